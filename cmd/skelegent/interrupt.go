package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interrupts are the signals that a person or the system sends to the program.
type interrupts struct {
	mu    sync.Mutex
	taker chan<- struct{} // gets Ctrl-C instead of the end of the context
}

// listen returns a context that ends with the first signal; the second one does what signals do. Ctrl-C goes to a command
// that takes it.
func (i *interrupts) listen(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var done sync.WaitGroup
	done.Go(func() {
		for {
			select {
			case s := <-signals:
				if s == os.Interrupt && i.deliver() {
					continue
				}
				signal.Stop(signals)
				cancel()
			case <-ctx.Done():
				return
			}
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		cancel()
		done.Wait()
	}
}

// deliver gives a Ctrl-C to whoever takes it, if somebody does.
func (i *interrupts) deliver() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.taker == nil {
		return false
	}
	select {
	case i.taker <- struct{}{}:
	default: // the one before is not yet read
	}
	return true
}

// take has every Ctrl-C sent to the channel until the function is called that it returns.
func (i *interrupts) take() (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.taker = c
	return c, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.taker = nil
	}
}
