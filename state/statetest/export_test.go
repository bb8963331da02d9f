package statetest

import "time"

// SetPatience makes clauses wait less for a value to go.
func SetPatience(d time.Duration) { patience = d }
