//go:build unix

package chaos_test

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
)

// serve is the role server: a NATS server, alone or in a cluster, until it is killed.
func serve() error {
	dir, slot := os.Getenv(envDir), os.Getenv(envSlot)
	port, err := strconv.Atoi(os.Getenv(envPort))
	if err != nil {
		return err
	}
	opts := &natsserver.Options{
		ServerName: slot, Host: "127.0.0.1", Port: port, NoSigs: true,
		JetStream: true, StoreDir: filepath.Join(dir, slot), // with the default of SyncInterval
		LogFile: filepath.Join(dir, slot+".log"), Logtime: true,
	}
	if cluster := ports(os.Getenv(envRoutes)); len(cluster) > 0 {
		opts.Cluster = natsserver.ClusterOpts{Name: "chaos", Host: "127.0.0.1", Port: cluster[0]}
		for _, p := range cluster {
			opts.Routes = append(opts.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", p)})
		}
	}
	out, err := openOutside(dir, slot)
	if err != nil {
		return err
	}
	go out.watch()
	s, err := natsserver.NewServer(opts)
	if err != nil {
		return err
	}
	s.ConfigureLogger()
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		return errors.New("server is not ready")
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	<-end
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}
