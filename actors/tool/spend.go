package tool

// Spender is the role of a tool that says whether its calls may spend money of the run that calls it. Of what is left, an
// agent gives each of those calls that run beside each other a share.
type Spender interface {
	// Spends reports whether a call may spend money.
	Spends() bool
}

// Spends reports whether calls of t may spend the run's money: no, unless t says so. Tools made by FromOperator do.
func Spends(t Tool) bool {
	s, ok := as[Spender](t)
	return ok && s.Spends()
}

// Spending says that calls may spend the run's money: they ask models or operators. What they may spend is the budget of
// protocol.NextCall, what they did spend is the result's Cost.
func Spending() Option { return func(o *options) { o.spends = true } }

// Spends implements Spender.
func (o *options) Spends() bool { return o.spends }
