package cloud

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A fault is what befalls a request between a store and its server.
type fault int

const (
	none           fault = iota
	late                 // it arrives after a while
	lostBefore           // the connection ends before the server sees the request
	lostAfter            // … before the client sees the answer
	unavailable          // 503, not done
	throttled            // 429, not done
	failedAfter          // 500, though it was done
	truncated            // the answer's body ends half way
	duplicated           // it arrives twice, the second answer counts: as when a library repeats what seems lost
	numberOfFaults = int(duplicated) + 1
)

// A proxy stands in front of a server and has faults befall a share of its requests, as a seed decides.
type proxy struct {
	server *url.URL
	share  float64
	faults []fault

	mu   sync.Mutex
	rand *rand.Rand
	did  [numberOfFaults]atomic.Int64
}

// behind starts a proxy in front of a server. It does what it is told to only after the bucket has been made.
func behind(t *testing.T, server *url.URL, seed uint64, share float64, faults ...fault) (*proxy, *url.URL) {
	t.Helper()
	p := &proxy{server: server, share: share, faults: faults, rand: rand.New(rand.NewPCG(seed, 0))}
	front := httptest.NewServer(p)
	t.Cleanup(front.Close)
	base, err := url.Parse(front.URL)
	if err != nil {
		t.Fatal(err)
	}
	return p, base
}

func (p *proxy) draw() (fault, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := none
	if p.rand.Float64() < p.share {
		f = p.faults[p.rand.IntN(len(p.faults))]
	}
	p.did[f].Add(1)
	return f, time.Duration(p.rand.IntN(20)) * time.Millisecond
}

// ServeHTTP implements [http.Handler].
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	f, wait := p.draw()
	switch f {
	case late:
		time.Sleep(wait)
	case lostBefore:
		panic(http.ErrAbortHandler)
	case unavailable:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case throttled:
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	status, header, answer := p.forward(r, body)
	switch f {
	case duplicated:
		status, header, answer = p.forward(r, body)
	case lostAfter:
		panic(http.ErrAbortHandler)
	case failedAfter:
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	for name, values := range header {
		w.Header()[name] = values
	}
	if f != truncated || len(answer) == 0 {
		w.WriteHeader(status)
		_, _ = w.Write(answer) // a client that is gone is not the proxy's business
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	w.WriteHeader(status)
	_, _ = w.Write(answer[:len(answer)/2])
	panic(http.ErrAbortHandler)
}

// forward asks the server. A request that arrived is carried out even if its client has gone.
func (p *proxy) forward(r *http.Request, body []byte) (int, http.Header, []byte) {
	out, err := http.NewRequest(r.Method, p.server.String()+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	out.Header = r.Header.Clone()
	out.Host = p.server.Host
	out.ContentLength = int64(len(body))
	answer, err := transport.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return answer.StatusCode, answer.Header, data
}

// transport passes bodies on as they are.
var transport = &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}
