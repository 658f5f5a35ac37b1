//go:build !linux

package logstore

import (
	"context"
	"errors"
	"os"
)

func createUnnamed(context.Context, *os.Root, string, string, []byte) error {
	return errors.ErrUnsupported
}
