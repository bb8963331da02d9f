package protocol

// BudgetEvent tells that money, steps or time run out. The variants are the types of this package that implement
// it; a field of this type is read by its type tag.
type BudgetEvent interface{ budgetEvent() }

// DecodeBudgetEvent reads an event. What does not fit is an *Error with code invalid_input.
func DecodeBudgetEvent(data []byte) (BudgetEvent, error) {
	var e BudgetEvent
	err := Unmarshal(data, &e)
	return e, err
}

// CostIncurred says what a model call cost, in USD.
type CostIncurred struct {
	Operator   OperatorID `json:"operator" wire:"required"`
	Cost       Decimal    `json:"cost" wire:"required"`
	Cumulative Decimal    `json:"cumulative" wire:"required"`
}

// BudgetWarning says that a workflow comes near its limit, in USD.
type BudgetWarning struct {
	Workflow WorkflowID `json:"workflow" wire:"required"`
	Spent    Decimal    `json:"spent" wire:"required"`
	Limit    Decimal    `json:"limit" wire:"required"`
}

// BudgetAction says what was decided about it.
type BudgetAction struct {
	Workflow WorkflowID     `json:"workflow" wire:"required"`
	Action   BudgetDecision `json:"action" wire:"required"`
}

// StepLimitApproaching says that few sub-dispatches are left.
type StepLimitApproaching struct {
	Operator OperatorID `json:"operator" wire:"required"`
	Current  uint32     `json:"current" wire:"required"`
	Max      uint32     `json:"max" wire:"required"`
}

// StepLimitReached says that none are left.
type StepLimitReached struct {
	Operator           OperatorID `json:"operator" wire:"required"`
	TotalSubDispatches uint32     `json:"total_sub_dispatches" wire:"required,alias=total_tool_calls"`
}

// LoopDetected says that an operator makes the same call again and again.
type LoopDetected struct {
	Operator         OperatorID `json:"operator" wire:"required"`
	OperatorName     string     `json:"operator_name" wire:"required,alias=tool_name"` // what it calls
	ConsecutiveCount uint32     `json:"consecutive_count" wire:"required"`
	Max              uint32     `json:"max" wire:"required"`
}

// TimeoutApproaching says that little time is left.
type TimeoutApproaching struct {
	Operator    OperatorID `json:"operator" wire:"required"`
	Elapsed     Millis     `json:"elapsed" wire:"required"`
	MaxDuration Millis     `json:"max_duration" wire:"required"`
}

// TimeoutReached says that none is left.
type TimeoutReached struct {
	Operator OperatorID `json:"operator" wire:"required"`
	Elapsed  Millis     `json:"elapsed" wire:"required"`
}

func (CostIncurred) budgetEvent()         {}
func (BudgetWarning) budgetEvent()        {}
func (BudgetAction) budgetEvent()         {}
func (StepLimitApproaching) budgetEvent() {}
func (StepLimitReached) budgetEvent()     {}
func (LoopDetected) budgetEvent()         {}
func (TimeoutApproaching) budgetEvent()   {}
func (TimeoutReached) budgetEvent()       {}

var _ = newUnion(
	variant[BudgetEvent]{"cost_incurred", CostIncurred{}},
	variant[BudgetEvent]{"budget_warning", BudgetWarning{}},
	variant[BudgetEvent]{"budget_action", BudgetAction{}},
	variant[BudgetEvent]{"step_limit_approaching", StepLimitApproaching{}},
	variant[BudgetEvent]{"step_limit_reached", StepLimitReached{}},
	variant[BudgetEvent]{"loop_detected", LoopDetected{}},
	variant[BudgetEvent]{"timeout_approaching", TimeoutApproaching{}},
	variant[BudgetEvent]{"timeout_reached", TimeoutReached{}},
)

// MarshalJSON writes the event with its type.
func (e CostIncurred) MarshalJSON() ([]byte, error) {
	type plain CostIncurred
	return marshalTagged("cost_incurred", plain(e))
}

// MarshalJSON writes the event with its type.
func (e BudgetWarning) MarshalJSON() ([]byte, error) {
	type plain BudgetWarning
	return marshalTagged("budget_warning", plain(e))
}

// MarshalJSON writes the event with its type.
func (e BudgetAction) MarshalJSON() ([]byte, error) {
	type plain BudgetAction
	return marshalTagged("budget_action", plain(e))
}

// MarshalJSON writes the event with its type.
func (e StepLimitApproaching) MarshalJSON() ([]byte, error) {
	type plain StepLimitApproaching
	return marshalTagged("step_limit_approaching", plain(e))
}

// MarshalJSON writes the event with its type.
func (e StepLimitReached) MarshalJSON() ([]byte, error) {
	type plain StepLimitReached
	return marshalTagged("step_limit_reached", plain(e))
}

// MarshalJSON writes the event with its type.
func (e LoopDetected) MarshalJSON() ([]byte, error) {
	type plain LoopDetected
	return marshalTagged("loop_detected", plain(e))
}

// MarshalJSON writes the event with its type.
func (e TimeoutApproaching) MarshalJSON() ([]byte, error) {
	type plain TimeoutApproaching
	return marshalTagged("timeout_approaching", plain(e))
}

// MarshalJSON writes the event with its type.
func (e TimeoutReached) MarshalJSON() ([]byte, error) {
	type plain TimeoutReached
	return marshalTagged("timeout_reached", plain(e))
}
