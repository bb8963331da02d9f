package protocol

// BudgetDecision is what to do when money runs out. It is comparable; the zero value is BudgetContinue.
type BudgetDecision struct {
	kind     string // empty for continue
	from, to string
	amount   string
}

const (
	decisionContinue  = "continue"
	decisionDowngrade = "downgrade_model"
	decisionHalt      = "halt_workflow"
	decisionIncrease  = "request_increase"
)

// BudgetContinue goes on as before.
func BudgetContinue() BudgetDecision { return BudgetDecision{} }

// DowngradeModel goes on with a cheaper model.
func DowngradeModel(from, to string) BudgetDecision {
	return BudgetDecision{kind: decisionDowngrade, from: from, to: to}
}

// HaltWorkflow stops the workflow.
func HaltWorkflow() BudgetDecision { return BudgetDecision{kind: decisionHalt} }

// RequestIncrease asks for more money, in USD.
func RequestIncrease(amount Decimal) BudgetDecision {
	return BudgetDecision{kind: decisionIncrease, amount: amount.Text()}
}

// Downgrade returns the models of a DowngradeModel, and whether it is one.
func (d BudgetDecision) Downgrade() (from, to string, ok bool) {
	return d.from, d.to, d.kind == decisionDowngrade
}

// Halts reports whether the workflow must stop.
func (d BudgetDecision) Halts() bool { return d.kind == decisionHalt }

// Increase returns the amount of a RequestIncrease, and whether it is one.
func (d BudgetDecision) Increase() (Decimal, bool) {
	if d.kind != decisionIncrease {
		return Decimal{}, false
	}
	amount, err := NewDecimal(d.amount)
	return amount, err == nil
}

// String returns the tag of the decision.
func (d BudgetDecision) String() string {
	if d.kind == "" {
		return decisionContinue
	}
	return d.kind
}

type downgradeJSON struct {
	From string `json:"from" wire:"required"`
	To   string `json:"to" wire:"required"`
}

type increaseJSON struct {
	Amount Decimal `json:"amount" wire:"required"`
}

// MarshalJSON writes "continue", "halt_workflow" or an object such as {"request_increase":{"amount":"5.00"}}.
func (d BudgetDecision) MarshalJSON() ([]byte, error) {
	if from, to, ok := d.Downgrade(); ok {
		return marshalExternal(d.kind, downgradeJSON{from, to})
	}
	if amount, ok := d.Increase(); ok {
		return marshalExternal(d.kind, increaseJSON{amount})
	}
	return Marshal(d.String())
}

// UnmarshalJSON reads every form.
func (d *BudgetDecision) UnmarshalJSON(raw []byte) error {
	tag, data, err := externalTag(raw)
	switch {
	case err != nil:
		return err
	case tag == decisionContinue && data == nil:
		*d = BudgetContinue()
		return nil
	case tag == decisionHalt && data == nil:
		*d = HaltWorkflow()
		return nil
	case tag == decisionDowngrade && data != nil:
		var j downgradeJSON
		err := decodeStruct(data, &j)
		*d = DowngradeModel(j.From, j.To)
		return at(tag, err)
	case tag == decisionIncrease && data != nil:
		var j increaseJSON
		err := decodeStruct(data, &j)
		*d = RequestIncrease(j.Amount)
		return at(tag, err)
	}
	return unknownVariant(tag, decisionContinue, decisionDowngrade, decisionHalt, decisionIncrease)
}
