// Command deltaskip is the command of the core, which see, for tables in object stores as well:
//
//	deltaskip files 's3://bucket/events?region=eu-central-1' --where "id < 50"
package main

import (
	"context"
	"strings"

	"github.com/deltaskip/deltaskip/cloud"
	"github.com/deltaskip/deltaskip/internal/cli"
)

func main() { cli.Main(open) }

// open opens a table by its URL, or in a folder.
func open(ctx context.Context, table string, follow []string) (cli.Store, error) {
	if strings.Contains(table, "://") && !strings.HasPrefix(table, "file://") {
		return cloud.Open(ctx, table)
	}
	return cli.OpenLocal(ctx, table, follow)
}
