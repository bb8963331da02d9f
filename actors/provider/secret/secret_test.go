package secret_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"go.yaml.in/yaml/v3"

	"github.com/skelegent/skelegent-go/actors/provider/secret"
	"github.com/skelegent/skelegent-go/protocol"
)

const key = "sk-very-secret"

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEnv(t *testing.T) {
	source := secret.Env("SKG_TEST_KEY")
	for value, want := range map[string]string{"": "", " \n": "", " " + key + "\n": key} {
		t.Setenv("SKG_TEST_KEY", value)
		check(t, source, want, "SKG_TEST_KEY")
	}
	t.Setenv("SKG_TEST_KEY", "rotated")
	check(t, source, "rotated", "")
	check(t, secret.Env("SKG_TEST_UNSET"), "", "SKG_TEST_UNSET")
}

func TestSources(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	own := func(v string, err error) secret.Source {
		return func(context.Context) (string, error) { return v, err }
	}
	tests := []struct {
		name   string
		source secret.Source
		want   string // empty for an error
		says   string
	}{
		{"file", secret.File(write(t, key+"\n")), key, ""},
		{"empty file", secret.File(write(t, " \n")), "", "is empty"},
		{"missing file", secret.File(missing), "", missing},
		{"large file", secret.File(write(t, strings.Repeat(key, 10_000))), "", "too large"},
		{"two lines", secret.File(write(t, key+"\n"+key)), "", "control characters"},
		{"static", secret.Static(" " + key), key, ""},
		{"empty static", secret.Static(" "), "", "empty"},
		{"own", own(key+" ", nil), key, ""},
		{"own, empty", own("", nil), "", "empty"},
		{"own, coded", own("", protocol.ErrAuthFailed("denied")), "", "denied"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			check(t, tt.source, tt.want, tt.says)
		})
	}
	if v, err := secret.None().Resolve(t.Context()); v != "" || err != nil {
		t.Errorf("None = %q, %v", v, err)
	}
}

func check(t *testing.T, source secret.Source, want, says string) {
	t.Helper()
	got, err := source.Resolve(t.Context())
	if want != "" {
		if got != want || err != nil {
			t.Errorf("Resolve = %q, %v; want %q", got, err, want)
		}
		return
	}
	if got != "" || !errors.Is(err, &protocol.Error{Kind: protocol.KindProviderAuthFailed}) {
		t.Fatalf("Resolve = %q, %v; want auth failed", got, err)
	}
	if !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), key) {
		t.Errorf("error %q should say %q and not the key", err, says)
	}
}

func TestNotPrinted(t *testing.T) {
	t.Parallel()
	type config struct {
		Name string
		Key  secret.Source
		key  secret.Source
	}
	s := secret.Static(key)
	c := config{Name: "main", Key: s, key: s}
	j, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	y, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zapcore.DebugLevel)
	zap.New(core).Info("configured", zap.Any("key", s), zap.Any("config", c))
	for _, got := range []string{
		fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s", c, c, c, s), fmt.Sprintf("%v %#v", &c, &c), string(j), string(y),
		fmt.Sprint(logs.All()),
	} {
		if strings.Contains(got, key) {
			t.Errorf("the key is in %q", got)
		}
	}
	if fmt.Sprint(s) != "[REDACTED]" || !strings.Contains(string(j), `"Key":"[REDACTED]"`) || !strings.Contains(string(y), "[REDACTED]") {
		t.Errorf("got %v, %s, %s", s, j, y)
	}
}
