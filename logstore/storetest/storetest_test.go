package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/deltaskip/deltaskip/logstore"
)

func TestMem(t *testing.T) {
	TestStore(t, func(*testing.T) logstore.Store { return &Mem{} })
}

func TestFaultyWithoutFaults(t *testing.T) {
	TestStore(t, func(*testing.T) logstore.Store { return Faulty(&Mem{}, func(Call) Fault { return nil }) })
}

func TestFaults(t *testing.T) {
	ctx := context.Background()
	lost := errors.New("lost")
	mem := &Mem{}
	put := func(name string, f Fault) error {
		return Faulty(mem, OnCall(PutIfAbsent, 1, f)).PutIfAbsent(ctx, name, []byte(name))
	}
	there := func(name string) bool {
		_, _, err := mem.Get(ctx, name, 10)
		return err == nil
	}
	if err := put("a", Fail(lost)); err != lost || there("a") {
		t.Errorf("Fail: %v, there %t", err, there("a"))
	}
	if err := put("b", LoseAnswer(lost)); err != lost || !there("b") {
		t.Errorf("LoseAnswer: %v, there %t", err, there("b"))
	}
	if err := put("c", Retry()); !errors.Is(err, logstore.ErrExists) || !there("c") {
		t.Errorf("Retry: %v, there %t", err, there("c"))
	}
	release, done := make(chan struct{}), make(chan struct{})
	if err := put("d", Late(lost, release, done)); err != lost || there("d") {
		t.Errorf("Late: %v, there %t", err, there("d"))
	}
	close(release)
	<-done
	if !there("d") {
		t.Error("Late: never there")
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	err := Faulty(mem, OnCall(PutIfAbsent, 1, Delay(make(chan struct{})))).PutIfAbsent(cancelled, "e", nil)
	if !errors.Is(err, context.Canceled) || there("e") {
		t.Errorf("Delay: %v, there %t", err, there("e"))
	}
}
