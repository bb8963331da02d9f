package secret_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skelegent/skelegent-go/actors/provider/secret"
)

func TestRefreshing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, broken := 0, false
		s := secret.Refreshing(func(context.Context) (secret.Credential, error) {
			n++
			time.Sleep(10 * time.Millisecond)
			if broken {
				return secret.Credential{}, errors.New("down")
			}
			return secret.Credential{Value: fmt.Sprint("token-", n), Expires: time.Now().Add(10 * time.Minute)}, nil
		})
		want := func(value string, fetched int) {
			t.Helper()
			if got, err := s.Resolve(t.Context()); got != value || n != fetched {
				t.Errorf("got %q, %v after %d fetches, want %q after %d", got, err, n, value, fetched)
			}
		}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { want("token-1", 1) })
		}
		all.Wait()
		time.Sleep(8 * time.Minute)
		want("token-1", 1)
		time.Sleep(90 * time.Second) // less than a minute before its end
		want("token-2", 2)
		broken = true
		time.Sleep(9*time.Minute + 30*time.Second)
		want("token-2", 3) // still good
		want("token-2", 3) // not asked again at once
		time.Sleep(10 * time.Second)
		want("token-2", 4)
		time.Sleep(time.Minute)
		want("", 5)
		broken = false
		want("token-6", 6)
	})
}

func TestRefreshingWithoutAnEnd(t *testing.T) {
	t.Parallel()
	n := 0
	s := secret.Refreshing(func(context.Context) (secret.Credential, error) {
		n++
		return secret.Credential{Value: "v"}, nil
	})
	for range 3 {
		if got, err := s.Resolve(t.Context()); got != "v" || err != nil || n != 1 {
			t.Errorf("got %q, %v, %d fetches", got, err, n)
		}
	}
}

// Who waits for another's fetch leaves with his context.
func TestRefreshingEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	s := secret.Refreshing(func(context.Context) (secret.Credential, error) {
		close(begun)
		<-release
		return secret.Credential{Value: "v"}, nil
	})
	done := make(chan error)
	go func() {
		_, err := s.Resolve(context.WithoutCancel(t.Context()))
		done <- err
	}()
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Resolve(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
