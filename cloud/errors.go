package cloud

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/deltaskip/deltaskip/logstore"
)

// readError gives the error of a request that changes nothing the words of package logstore. status is the server's answer, 0
// without one.
func readError(status int, err error) error {
	switch {
	case err == nil:
		return nil
	case status == http.StatusNotFound:
		return fmt.Errorf("%w: %w", logstore.ErrNotFound, err)
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		return fmt.Errorf("%w: %w", errLater, err)
	}
	return err
}

// writeError says what the failure of a write that was sent once means. Unless the server answered that it would not have it,
// nobody knows: a timeout, a lost connection and a 5xx may each come after the object was written.
func writeError(status int, ifAbsent bool, err error) error {
	switch {
	case err == nil:
		return nil
	case status == http.StatusPreconditionFailed && ifAbsent:
		return fmt.Errorf("%w: %w", logstore.ErrExists, err)
	case status == http.StatusConflict:
		return fmt.Errorf("%w: %w", errBusy, err)
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests:
	case status >= 400 && status < 500:
		return err
	case status == 0 && notSent(err):
		return err
	}
	return fmt.Errorf("%w: %w", logstore.ErrOutcomeUnknown, err)
}

// notSent reports whether a request failed before a connection stood.
func notSent(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return !errors.Is(err, context.DeadlineExceeded) && (errors.As(err, &op) && op.Op == "dial" || errors.As(err, &dns))
}
