//go:build !linux

package crash

import "os/exec"

// Run is not implemented on this system: it returns [ErrUnsupported].
func Run(*exec.Cmd, string, int) (Result, error) { return Result{}, ErrUnsupported }
