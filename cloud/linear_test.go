package cloud

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/deltaskip/deltaskip/logstore"
)

type (
	operation struct {
		name  string
		value string // to put; empty to get
	}
	outcome struct {
		value  string // got; empty for none
		exists bool   // the put was refused: the name is taken
		failed bool   // the put has not taken place
		lost   bool   // nobody knows whether it has, or will
	}
)

// names is what a log store promises: a name that has a value keeps it.
var names = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byName := map[string][]porcupine.Operation{}
		for _, o := range history {
			name := o.Input.(operation).name
			byName[name] = append(byName[name], o)
		}
		var out [][]porcupine.Operation
		for _, part := range byName {
			out = append(out, part)
		}
		return out
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		now, in, out := state.(string), input.(operation), output.(outcome)
		switch {
		case in.value == "":
			return out.lost || out.value == now, now
		case out.lost:
			if now == "" {
				return true, in.value
			}
			return true, now
		case out.exists:
			return now != "", now
		case out.failed:
			return true, now
		default:
			return now == "", in.value
		}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v %+v", input, output) },
}

// Behind a proxy that loses and delays, histories of concurrent puts and gets are those of a store that does one after the
// other. A write that was duplicated on its way would be told that its own name is taken: it is left to the committers' test.
func TestHistoriesAreLinearizable(t *testing.T) {
	eachServer(t, func(t *testing.T, s *server) {
		direct := s.start(t)
		for round := range uint64(2) {
			_, base := behind(t, direct, *seed+round, 0.1, late, lostBefore, lostAfter, unavailable, throttled, failedAfter, truncated)
			store := s.open(t, base)
			var (
				mu      sync.Mutex
				history []porcupine.Operation
				group   sync.WaitGroup
				begin   = time.Now()
			)
			for client := range 6 {
				group.Go(func() {
					r := rand.New(rand.NewPCG(*seed+round, uint64(client)))
					for i := range 10 {
						in := operation{name: fmt.Sprintf("d/%d", r.IntN(3))}
						if r.IntN(2) == 0 {
							in.value = fmt.Sprintf("%d by %d", i, client)
						}
						called := time.Since(begin)
						out := do(store, in)
						returned := time.Since(begin)
						if out.lost {
							returned = math.MaxInt64 // it may still take effect
						}
						mu.Lock()
						history = append(history, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: int64(called), Return: int64(returned)})
						mu.Unlock()
					}
				})
			}
			group.Wait()
			if result := porcupine.CheckOperationsTimeout(names, history, time.Minute); result != porcupine.Ok {
				t.Errorf("seed %d: the history is not linearizable (%s): %+v", *seed+round, result, history)
			}
		}
	})
}

func do(store logstore.Store, in operation) (out outcome) {
	if in.value == "" {
		data, _, err := store.Get(context.Background(), in.name, 100)
		out.lost = err != nil && !errors.Is(err, logstore.ErrNotFound)
		out.value = string(data)
		return out
	}
	err := store.PutIfAbsent(context.Background(), in.name, []byte(in.value))
	switch {
	case err == nil:
	case errors.Is(err, logstore.ErrExists):
		out.exists = true
	case errors.Is(err, logstore.ErrOutcomeUnknown):
		out.lost = true
	default:
		out.failed = true
	}
	return out
}
