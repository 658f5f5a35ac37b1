package crash

import (
	"errors"
	"os"
	"os/exec"
	"testing"
)

// RunTest runs one test of this test binary as a program that [Run] kills before its n-th call, with more variables in its
// environment. t fails where the program fails by itself, or leaves to the machine's caches what it had said (see
// [Result.Durable]). Where programs cannot be watched t is skipped, and under CI fails.
func RunTest(t testing.TB, test, dir string, n int, env ...string) Result {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$")
	cmd.Env = append(os.Environ(), env...)
	r, err := Run(cmd, dir, n)
	if errors.Is(err, ErrUnsupported) && os.Getenv("CI") == "" {
		t.Skipf("SKIPPED, crashes are not tried: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !r.Killed && r.Status != 0 {
		t.Fatalf("the program failed: %s%s", r.Stdout, r.Stderr)
	}
	if err := r.Durable(); err != nil {
		t.Errorf("%v, in\n%v", err, r.Calls)
	}
	return r
}
