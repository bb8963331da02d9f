package protocol

// CompactionEvent tells what becomes of a context that grows too long. The variants are the types of this package
// that implement it; a field of this type is read by its type tag.
type CompactionEvent interface{ compactionEvent() }

// DecodeCompactionEvent reads an event. What does not fit is an *Error with code invalid_input.
func DecodeCompactionEvent(data []byte) (CompactionEvent, error) {
	var e CompactionEvent
	err := Unmarshal(data, &e)
	return e, err
}

// ContextPressure says how full the context is.
type ContextPressure struct {
	Operator        OperatorID `json:"operator" wire:"required"`
	FillPercent     float64    `json:"fill_percent" wire:"required"`
	TokensUsed      uint64     `json:"tokens_used" wire:"required"`
	TokensAvailable uint64     `json:"tokens_available" wire:"required"`
}

// PreCompactionFlush says that what must survive should be written to scope now.
type PreCompactionFlush struct {
	Operator OperatorID `json:"operator" wire:"required"`
	Scope    Scope      `json:"scope" wire:"required"`
}

// CompactionComplete says that a compaction succeeded.
type CompactionComplete struct {
	Operator    OperatorID `json:"operator" wire:"required"`
	Strategy    string     `json:"strategy" wire:"required"`
	TokensFreed uint64     `json:"tokens_freed" wire:"required"`
}

// ProviderManaged says that the model's provider compacted by itself.
type ProviderManaged struct {
	Operator     OperatorID `json:"operator" wire:"required"`
	Provider     string     `json:"provider" wire:"required"`
	TokensBefore uint64     `json:"tokens_before" wire:"required"`
	TokensAfter  uint64     `json:"tokens_after" wire:"required"`
	Summary      *Content   `json:"summary"` // null if none
}

// CompactionFailed says that a compaction failed; the context is as it was.
type CompactionFailed struct {
	Operator OperatorID `json:"operator" wire:"required"`
	Error    string     `json:"error" wire:"required"`
	Strategy string     `json:"strategy" wire:"required"`
}

// CompactionSkipped says why a compaction was not done.
type CompactionSkipped struct {
	Operator OperatorID `json:"operator" wire:"required"`
	Reason   string     `json:"reason" wire:"required"`
}

// FlushFailed says that something could not be saved before a compaction.
type FlushFailed struct {
	Operator OperatorID `json:"operator" wire:"required"`
	Scope    Scope      `json:"scope" wire:"required"`
	Key      string     `json:"key" wire:"required"`
	Error    string     `json:"error" wire:"required"`
}

// CompactionQuality says how much a compaction kept.
type CompactionQuality struct {
	Operator       OperatorID `json:"operator" wire:"required"`
	TokensBefore   uint64     `json:"tokens_before" wire:"required"`
	TokensAfter    uint64     `json:"tokens_after" wire:"required"`
	ItemsPreserved uint32     `json:"items_preserved" wire:"required"`
	ItemsLost      uint32     `json:"items_lost" wire:"required"`
}

func (ContextPressure) compactionEvent()    {}
func (PreCompactionFlush) compactionEvent() {}
func (CompactionComplete) compactionEvent() {}
func (ProviderManaged) compactionEvent()    {}
func (CompactionFailed) compactionEvent()   {}
func (CompactionSkipped) compactionEvent()  {}
func (FlushFailed) compactionEvent()        {}
func (CompactionQuality) compactionEvent()  {}

var _ = newUnion(
	variant[CompactionEvent]{"context_pressure", ContextPressure{}},
	variant[CompactionEvent]{"pre_compaction_flush", PreCompactionFlush{}},
	variant[CompactionEvent]{"compaction_complete", CompactionComplete{}},
	variant[CompactionEvent]{"provider_managed", ProviderManaged{}},
	variant[CompactionEvent]{"compaction_failed", CompactionFailed{}},
	variant[CompactionEvent]{"compaction_skipped", CompactionSkipped{}},
	variant[CompactionEvent]{"flush_failed", FlushFailed{}},
	variant[CompactionEvent]{"compaction_quality", CompactionQuality{}},
)

// MarshalJSON writes the event with its type.
func (e ContextPressure) MarshalJSON() ([]byte, error) {
	type plain ContextPressure
	return marshalTagged("context_pressure", plain(e))
}

// MarshalJSON writes the event with its type.
func (e PreCompactionFlush) MarshalJSON() ([]byte, error) {
	type plain PreCompactionFlush
	return marshalTagged("pre_compaction_flush", plain(e))
}

// MarshalJSON writes the event with its type.
func (e CompactionComplete) MarshalJSON() ([]byte, error) {
	type plain CompactionComplete
	return marshalTagged("compaction_complete", plain(e))
}

// MarshalJSON writes the event with its type.
func (e ProviderManaged) MarshalJSON() ([]byte, error) {
	type plain ProviderManaged
	return marshalTagged("provider_managed", plain(e))
}

// MarshalJSON writes the event with its type.
func (e CompactionFailed) MarshalJSON() ([]byte, error) {
	type plain CompactionFailed
	return marshalTagged("compaction_failed", plain(e))
}

// MarshalJSON writes the event with its type.
func (e CompactionSkipped) MarshalJSON() ([]byte, error) {
	type plain CompactionSkipped
	return marshalTagged("compaction_skipped", plain(e))
}

// MarshalJSON writes the event with its type.
func (e FlushFailed) MarshalJSON() ([]byte, error) {
	type plain FlushFailed
	return marshalTagged("flush_failed", plain(e))
}

// MarshalJSON writes the event with its type.
func (e CompactionQuality) MarshalJSON() ([]byte, error) {
	type plain CompactionQuality
	return marshalTagged("compaction_quality", plain(e))
}
