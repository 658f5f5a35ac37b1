// Command deltaskip shows which files of a Delta table may hold rows of a predicate, and whether and why two
// transactions on it conflict. Everything it says comes from the library; run it with --help.
//
// It opens tables in folders. The same command for object stores is github.com/deltaskip/deltaskip/cloud/cmd/deltaskip.
package main

import "github.com/deltaskip/deltaskip/internal/cli"

func main() { cli.Main(cli.OpenLocal) }
