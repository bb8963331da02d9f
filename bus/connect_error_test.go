package bus_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
)

func TestConnectErrors(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	s := startEmbedded(t, embed.Config{Dir: dir, Listen: "127.0.0.1:0"})
	startEmbedded(t, embed.Config{Dir: other, Listen: embed.ListenNone})
	host := strings.TrimPrefix(s.URL(), "nats://")
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		cfg  bus.ConnectConfig
		is   error
		says string
	}{
		"nothing there":   {bus.ConnectConfig{URL: "nats://127.0.0.1:1"}, bus.ErrConnect, "nats://127.0.0.1:1: nothing listens there"},
		"wrong password":  {bus.ConnectConfig{URL: "nats://me:hunter2@" + host}, bus.ErrUnauthorized, "nats://" + host},
		"token":           {bus.ConnectConfig{URL: "nats://hunter2@" + host}, bus.ErrUnauthorized, "nats://" + host},
		"no scheme":       {bus.ConnectConfig{URL: "me:hunter2@" + host}, bus.ErrUnauthorized, " " + host},
		"several":         {bus.ConnectConfig{URL: "nats://a:hunter2@127.0.0.1:1, nats://b:hunter2@127.0.0.1:2"}, bus.ErrConnect, "nats://127.0.0.1:1, nats://127.0.0.1:2"},
		"malformed":       {bus.ConnectConfig{URL: "nats://me:hunter2@127.0.0.1:port"}, bus.ErrConnect, "malformed"},
		"broken password": {bus.ConnectConfig{URL: "nats://me:a/hunter2,b@127.0.0.1:1"}, bus.ErrConnect, "127.0.0.1:1"},
		"unknown context": {bus.ConnectConfig{Context: "there-is-no-such-context"}, bus.ErrConnect, "there-is-no-such-context"},
		"two addresses":   {bus.ConnectConfig{Context: "a", URL: "b"}, bus.ErrConnect, "not both"},
		"two credentials": {bus.ConnectConfig{Creds: "a", NKey: "b"}, bus.ErrConnect, "not both"},
		"foreign key":     {bus.ConnectConfig{URL: s.URL(), NKey: filepath.Join(other, embed.NodeKeyFile)}, bus.ErrUnauthorized, s.URL()},
		"empty key":       {bus.ConnectConfig{URL: s.URL(), NKey: empty}, bus.ErrConnect, empty},
		"no key":          {bus.ConnectConfig{URL: s.URL(), NKey: empty + "x"}, fs.ErrNotExist, empty + "x"},
		"no creds":        {bus.ConnectConfig{URL: s.URL(), Creds: empty + "x"}, fs.ErrNotExist, empty + "x"},
		"no authority":    {bus.ConnectConfig{URL: s.URL(), CA: empty + "x"}, fs.ErrNotExist, empty + "x"},
		"empty authority": {bus.ConnectConfig{URL: s.URL(), CA: empty}, bus.ErrConnect, empty},
		"half a pair":     {bus.ConnectConfig{URL: s.URL(), Cert: empty}, bus.ErrConnect, "needs its key"},
		"empty pair":      {bus.ConnectConfig{URL: s.URL(), Cert: empty, Key: empty}, bus.ErrConnect, empty},
		"TLS not offered": {bus.ConnectConfig{URL: s.URL(), TLSServerName: "x"}, bus.ErrConnect, "does not offer TLS"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := bus.Connect(connectContext(t), c.cfg)
			if !errors.Is(err, bus.ErrConnect) || !errors.Is(err, c.is) {
				t.Fatalf("got %v, want %v", err, c.is)
			}
			if text := err.Error(); !strings.Contains(text, c.says) || strings.Contains(text, "hunter2") {
				t.Errorf("got %q, want %q in it and no secret", text, c.says)
			}
		})
	}
}

func TestConnectTLS(t *testing.T) {
	t.Parallel()
	cert, ca := selfSigned(t, "nats.example")
	_, strange := selfSigned(t, "nats.example")
	ns, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
	})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(connectPatience) {
		t.Fatal("not ready")
	}
	url := "tls://" + ns.Addr().(*net.TCPAddr).String()
	c := connect(t, bus.ConnectConfig{URL: url, CA: ca, TLSServerName: "nats.example"})
	if err := c.Close(connectContext(t)); err != nil {
		t.Error(err)
	}
	for name, cfg := range map[string]bus.ConnectConfig{
		"another authority": {URL: url, CA: strange, TLSServerName: "nats.example"},
		"no authority":      {URL: url},
		"another name":      {URL: url, CA: ca, TLSServerName: "other.example"},
	} {
		_, err := bus.Connect(connectContext(t), cfg)
		if !errors.Is(err, bus.ErrConnect) || !strings.Contains(err.Error(), "TLS: ") {
			t.Errorf("%s: got %v, want a TLS error", name, err)
		}
	}
}

// selfSigned makes a certificate for one name, and a file with it as the authority.
func selfSigned(t testing.TB, name string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}
