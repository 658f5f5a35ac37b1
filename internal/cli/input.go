package cli

import (
	"io"
	"os"
)

// openInput opens a file that a flag names, or standard input for -, and says what to call it. The caller closes it.
func openInput(name string) (in io.ReadCloser, called string, err error) {
	if name == "-" {
		return io.NopCloser(os.Stdin), "standard input", nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, name, err
	}
	return f, name, nil
}
