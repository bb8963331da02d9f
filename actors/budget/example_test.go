package budget_test

import (
	"errors"
	"fmt"

	"github.com/skelegent/skelegent-go/actors/budget"
)

func ExampleTokens() {
	tokens := budget.NewTokens(1000)
	call := func(estimate, prompt, completion uint64) {
		r, err := tokens.Reserve(estimate)
		if errors.Is(err, budget.ErrExhausted) {
			fmt.Println(err)
			return
		}
		defer r.Release() // whatever happens
		r.Record(prompt, completion)
		fmt.Println(tokens.Consumed(), "used,", tokens.Available(), "left")
	}
	call(400, 120, 80)
	call(100, 250, 50)
	call(600, 0, 0)
	// Output:
	// 200 used, 800 left
	// 500 used, 500 left
	// budget exhausted: 500 are left, 600 are needed
}
