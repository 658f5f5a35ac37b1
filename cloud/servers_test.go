package cloud

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/fsouza/fake-gcs-server/fakestorage"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"go.uber.org/goleak"
)

// A server speaks a vendor's protocol on the loopback.
type server struct {
	name   string
	listen func(t *testing.T) *url.URL // starts it, once
	// table is the URL of a folder in a bucket that exists, by way of a server at base.
	table  func(base *url.URL, folder string) string
	bucket func(ctx context.Context, table string) error // creates the bucket
}

const bucketName = "deltaskip-test"

var servers = []*server{
	{name: "S3 by gofakes3", listen: once(gofakes3Server), table: s3Table, bucket: s3Bucket},
	{name: "S3 by moto", listen: once(motoServer), table: s3Table, bucket: s3Bucket},
	{name: "GCS by fake-gcs-server", listen: once(gcsServer), table: gcsTable, bucket: func(context.Context, string) error { return nil }},
	{name: "Azure by Azurite", listen: once(azurite), table: azureTable, bucket: azureBucket},
}

var folders atomic.Int64

// eachServer runs f with every server that is here. Locally those that servers.sh has not brought are left out, and the test
// says so; in CI that is a failure.
func eachServer(t *testing.T, f func(t *testing.T, s *server)) {
	credentials(t)
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) { f(t, s) })
	}
}

// credentials are what the servers take.
func credentials(t *testing.T) {
	for name, value := range serverCredentials {
		t.Setenv(name, value)
	}
}

var serverCredentials = map[string]string{
	"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
	"AZURE_STORAGE_ACCOUNT": "devstoreaccount1",
	// Azurite's well-known key.
	"AZURE_STORAGE_KEY": "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
}

// open opens an empty folder by way of the server at base.
func (s *server) open(t *testing.T, base *url.URL) *Store {
	t.Helper()
	if base.Scheme == "" {
		t.Fatal("no server")
	}
	t.Setenv("STORAGE_EMULATOR_HOST", base.Host)
	store, err := Open(context.Background(), s.table(base, fmt.Sprintf("tables/%d/t", folders.Add(1))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// start starts the server if need be, with its bucket.
func (s *server) start(t *testing.T) *url.URL {
	t.Helper()
	base := s.listen(t)
	t.Setenv("STORAGE_EMULATOR_HOST", base.Host)
	if err := s.bucket(context.Background(), s.table(base, "x")); err != nil {
		t.Fatal(err)
	}
	return base
}

// once starts a server at its first use; it ends with the tests.
func once(start func() (*url.URL, error)) func(t *testing.T) *url.URL {
	run := sync.OnceValues(start)
	return func(t *testing.T) *url.URL {
		t.Helper()
		base, err := run()
		if err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skipf("SKIPPED, not checked against this store: %v; servers.sh brings the servers", err)
		}
		return base
	}
}

func gofakes3Server() (*url.URL, error) {
	s := httptest.NewServer(gofakes3.New(s3mem.New()).Server())
	return url.Parse(s.URL)
}

func gcsServer() (*url.URL, error) {
	host, err := freeHost()
	if err != nil {
		return nil, err
	}
	s, err := fakestorage.NewServerWithOptions(fakestorage.Options{
		Scheme: "http", Host: host.IP.String(), Port: uint16(host.Port), PublicHost: host.String(), Writer: io.Discard,
	})
	if err != nil {
		return nil, err
	}
	s.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: bucketName})
	return &url.URL{Scheme: "http", Host: host.String()}, nil
}

// freeHost returns an address on the loopback that nobody listens to.
func freeHost() (*net.TCPAddr, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return l.Addr().(*net.TCPAddr), l.Close()
}

func motoServer() (*url.URL, error) {
	return command(filepath.Join(".servers", "venv", "bin", "moto_server"), "-H", "127.0.0.1", "-p", "PORT")
}

func azurite() (*url.URL, error) {
	return command(filepath.Join(".servers", "node_modules", ".bin", "azurite-blob"), "--inMemoryPersistence", "--silent",
		"--skipApiVersionCheck", "--disableTelemetry", "--blobHost", "127.0.0.1", "--blobPort", "PORT")
}

// running are the servers that are processes, ended by TestMain.
var running []*exec.Cmd

// command starts a server that is a program and waits until it answers.
func command(argv ...string) (*url.URL, error) {
	if _, err := os.Stat(argv[0]); err != nil {
		return nil, err
	}
	free, err := freeHost()
	if err != nil {
		return nil, err
	}
	host := free.String()
	for i, a := range argv {
		if a == "PORT" {
			argv[i] = strconv.Itoa(free.Port)
		}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	running = append(running, cmd)
	for range 600 {
		if r, err := http.Get("http://" + host); err == nil {
			r.Body.Close()
			return &url.URL{Scheme: "http", Host: host}, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, fmt.Errorf("%s does not answer", argv[0])
}

// TestMain ends the servers, and fails when the tests leave a goroutine behind other than those of servers and connections that
// are kept for the next request.
func TestMain(m *testing.M) {
	code := m.Run()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	transport.CloseIdleConnections()
	if left := goleak.Find(
		goleak.IgnoreAnyFunction("net/http.(*Server).Serve"), goleak.IgnoreAnyFunction("net/http.(*conn).serve"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead"), goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start"), // begun by being imported
	); left != nil && code == 0 {
		fmt.Fprintln(os.Stderr, left)
		code = 1
	}
	for _, cmd := range running {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	os.Exit(code)
}

func s3Table(base *url.URL, folder string) string {
	q := url.Values{"endpoint": {base.String()}, "use_path_style": {"true"}}
	return "s3://" + bucketName + "/" + folder + "?" + q.Encode()
}

func s3Bucket(ctx context.Context, table string) error {
	store, err := Open(ctx, table)
	if err != nil {
		return err
	}
	defer store.Close()
	name := bucketName
	client := store.Store.(*objects).backend.(*s3Backend).client
	if _, err = client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &name}); err == nil {
		return nil
	}
	_, err = client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name})
	return err
}

func gcsTable(_ *url.URL, folder string) string {
	return "gs://" + bucketName + "/" + folder + "?access_id=-&anonymous=true"
}

func azureTable(base *url.URL, folder string) string {
	q := url.Values{"protocol": {"http"}, "domain": {base.Host}, "localemu": {"true"}}
	return "azblob://" + bucketName + "/" + folder + "?" + q.Encode()
}

func azureBucket(ctx context.Context, table string) error {
	store, err := Open(ctx, table)
	if err != nil {
		return err
	}
	defer store.Close()
	c := store.Store.(*objects).backend.(*azureBackend).container
	if _, err := c.GetProperties(ctx, nil); err == nil {
		return nil
	}
	_, err = c.Create(ctx, &container.CreateOptions{})
	return err
}
