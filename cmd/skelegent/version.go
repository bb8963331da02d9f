package main

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// versionInfo says what this program was built of.
type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	NATS     string `json:"nats_go,omitempty"`
	Server   string `json:"nats_server,omitempty"`
	Platform string `json:"platform"`
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Say which version this is", Example: "  skelegent version --json", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			info, _ := debug.ReadBuildInfo()
			v := readVersion(info)
			if a.flags.json {
				return a.out.json(v)
			}
			line := "skelegent " + v.Version
			if v.Revision != "" {
				line += " (" + strings.TrimSpace(v.Revision+" "+v.Time) + ")"
			}
			a.out.printf("%s, %s, nats.go %s, nats-server %s, %s\n",
				line, v.Go, cmp.Or(v.NATS, "unknown"), cmp.Or(v.Server, "unknown"), v.Platform)
			return nil
		},
	}
}

func readVersion(info *debug.BuildInfo) versionInfo {
	v := versionInfo{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return v
	}
	v.Version = cmp.Or(info.Main.Version, v.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value[:min(len(s.Value), 12)]
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	for _, dep := range info.Deps {
		switch dep.Path {
		case "github.com/nats-io/nats.go":
			v.NATS = dep.Version
		case "github.com/nats-io/nats-server/v2":
			v.Server = dep.Version
		}
	}
	return v
}
