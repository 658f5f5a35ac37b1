package bench

import (
	"os"
	"syscall"
)

// maxResident returns the largest resident set of a process that has ended, in bytes.
func maxResident(s *os.ProcessState) int64 {
	if usage, ok := s.SysUsage().(*syscall.Rusage); ok {
		return int64(usage.Maxrss) << 10
	}
	return 0
}
