package main

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// globals are the flags of every command, with the environment filled in when a command runs.
type globals struct {
	url, context, creds, nkey string
	tlsCA, tlsCert, tlsKey    string
	prefix                    string
	json, verbose             bool
	timeout                   time.Duration
}

// defaultTimeout is how long a command waits for the server unless it is told.
const defaultTimeout = 10 * time.Second

// add defines the flags.
func (f *globals) add(p *pflag.FlagSet) {
	p.StringVar(&f.url, "nats", "", "server address `URL`, several with commas (NATS_URL; default nats://127.0.0.1:4222)")
	p.StringVar(&f.context, "context", "", "NATS context `NAME` (NATS_CONTEXT)")
	p.StringVar(&f.creds, "creds", "", "credentials `FILE` (NATS_CREDS)")
	p.StringVar(&f.nkey, "nkey", "", "nkey seed `FILE`, such as .skelegent/node.key (NATS_NKEY)")
	p.StringVar(&f.tlsCA, "tlsca", "", "TLS authority `FILE` (NATS_CA)")
	p.StringVar(&f.tlsCert, "tlscert", "", "TLS certificate `FILE` (NATS_CERT)")
	p.StringVar(&f.tlsKey, "tlskey", "", "TLS key `FILE` (NATS_KEY)")
	p.StringVar(&f.prefix, "prefix", "", "first token of all subjects (SKELEGENT_PREFIX; default skg)")
	p.BoolVar(&f.json, "json", false, "print JSON")
	p.BoolVar(&f.verbose, "verbose", false, "log what the connection does on the standard error")
	p.DurationVar(&f.timeout, "timeout", defaultTimeout, "how long the server may take")
}

// settle fills in from the environment what no flag says. A flag beats every variable that it excludes.
func (f *globals) settle(cmd *cobra.Command, getenv func(string) string) error {
	given := cmd.Flags().Changed
	for _, pair := range [][2]string{{"nats", "context"}, {"creds", "nkey"}} {
		if given(pair[0]) && given(pair[1]) {
			return usagef("give --%s or --%s, not both", pair[0], pair[1])
		}
	}
	if f.timeout <= 0 {
		return usagef("--timeout must be above 0")
	}
	fill := func(name string, value *string, variable string) {
		if !given(name) {
			*value = getenv(variable)
		}
	}
	if !given("nats") && !given("context") {
		fill("nats", &f.url, "NATS_URL")
		if f.url == "" {
			fill("context", &f.context, "NATS_CONTEXT")
		}
	}
	if !given("creds") && !given("nkey") {
		fill("creds", &f.creds, "NATS_CREDS")
		if f.creds == "" {
			fill("nkey", &f.nkey, "NATS_NKEY")
		}
	}
	fill("tlsca", &f.tlsCA, "NATS_CA")
	fill("tlscert", &f.tlsCert, "NATS_CERT")
	fill("tlskey", &f.tlsKey, "NATS_KEY")
	fill("prefix", &f.prefix, "SKELEGENT_PREFIX")
	return nil
}

// connectConfig says where to connect and as whom.
func (f *globals) connectConfig() (bus.ConnectConfig, error) {
	names, err := wire.NewNames(f.prefix)
	if err != nil {
		return bus.ConnectConfig{}, usageError(err)
	}
	cfg := bus.ConnectConfig{
		URL: f.url, Context: f.context, Creds: f.creds, NKey: f.nkey, CA: f.tlsCA, Cert: f.tlsCert, Key: f.tlsKey, Names: names,
	}
	if cfg.NKey != "" {
		cfg.InboxPrefix = embed.InboxPrefix // a node's: guests can neither read nor write there
	}
	return cfg, nil
}
