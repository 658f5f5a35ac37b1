package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// errUnsupported says that a contestant doesn't take part in a step.
var errUnsupported = errors.New("does not take part")

// A contestant is a process that answers one line for each line it is sent: see README.md.
type contestant struct {
	name    string
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	stderr  bytes.Buffer
	times   []time.Duration
	answer  int64
	peakRSS int64 // bytes
	err     error
}

// start starts the process.
func start(name string, argv []string, env ...string) (*contestant, error) {
	c := &contestant{name: name, cmd: exec.Command(argv[0], argv[1:]...)}
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.Stderr = &c.stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewScanner(out)
	return c, c.cmd.Start()
}

// A reply is what a contestant answers.
type reply struct {
	Seconds     float64 `json:"seconds"`
	Answer      int64   `json:"answer"`
	Unsupported bool    `json:"unsupported,omitempty"`
	Error       string  `json:"error,omitempty"`
}

// ask sends a line and waits for the answer.
func (c *contestant) ask(verb, step string) (reply, error) {
	var r reply
	if _, err := fmt.Fprintf(c.in, "%s %s\n", verb, step); err != nil {
		return r, c.gone(err)
	}
	if !c.out.Scan() {
		return r, c.gone(c.out.Err())
	}
	if err := json.Unmarshal(c.out.Bytes(), &r); err != nil {
		return r, fmt.Errorf("%s answers %q: %w", c.name, c.out.Text(), err)
	}
	switch {
	case r.Unsupported:
		return r, errUnsupported
	case r.Error != "":
		return r, errors.New(r.Error)
	}
	return r, nil
}

// gone explains why a process answers no more.
func (c *contestant) gone(err error) error {
	return fmt.Errorf("%s is gone: %w: %s", c.name, errors.Join(err, io.ErrUnexpectedEOF), bytes.TrimSpace(c.stderr.Bytes()))
}

// run has the step done once more.
func (c *contestant) run(step string) {
	r, err := c.ask("run", step)
	if err != nil {
		c.err = err
		return
	}
	c.times = append(c.times, time.Duration(r.Seconds*1e9))
	c.answer = r.Answer
	c.peakRSS = max(c.peakRSS, peakRSS(c.cmd.Process.Pid))
}

// close ends the process.
func (c *contestant) close() {
	c.in.Close()
	done := make(chan struct{})
	go func() { _ = c.cmd.Wait(); close(done) }() // how it ends is nobody's business any more
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		_ = c.cmd.Process.Kill()
		<-done
	}
}

// peakRSS returns the largest resident set of a process so far, as Linux tells it; 0 elsewhere.
func peakRSS(pid int) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(string(fields[0]), 10, 64)
	return kib << 10
}

// serve makes this process a contestant: steps by name, each of which prepares itself and returns what is then run.
func serve(steps map[string]func() (func() (int64, error), error)) error {
	in := bufio.NewScanner(os.Stdin)
	run := map[string]func() (int64, error){}
	for in.Scan() {
		verb, step, _ := bytes.Cut(in.Bytes(), []byte(" "))
		name := string(step)
		r := reply{}
		switch {
		case steps[name] == nil:
			r.Unsupported = true
		case string(verb) == "prepare":
			f, err := steps[name]()
			if err != nil {
				r.Error = err.Error()
			}
			run[name] = f
		case run[name] == nil:
			r.Error = "not prepared"
		default:
			begin := time.Now()
			answer, err := run[name]()
			r.Seconds, r.Answer = time.Since(begin).Seconds(), answer
			if err != nil {
				r.Error = err.Error()
			}
		}
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if _, err := fmt.Printf("%s\n", line); err != nil {
			return err
		}
	}
	return in.Err()
}
