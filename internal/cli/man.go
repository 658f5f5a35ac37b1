package cli

import (
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write manual pages, one for each command",
		Long: `man writes the manual pages deltaskip.1, deltaskip-files.1 and so on to a folder, which it
makes. Pages are dated by SOURCE_DATE_EPOCH where that is set, so that packages can be built
the same again.`,
		Example: `  deltaskip man ./man1
  deltaskip man ~/.local/share/man/man1 && man deltaskip-check`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("give one DIR, not %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			header := &doc.GenManHeader{Title: "DELTASKIP", Section: "1", Source: "deltaskip", Manual: "deltaskip"}
			if os.Getenv("SOURCE_DATE_EPOCH") == "" { // the library reads it
				now := time.Now().UTC()
				header.Date = &now
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, header, args[0])
		},
	}
}
