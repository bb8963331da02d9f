package protocol

// MarshalJSON writes the effect with its type.
func (e WriteMemory) MarshalJSON() ([]byte, error) {
	type plain WriteMemory
	return marshalTagged(string(e.Kind()), plain(e))
}

// MarshalJSON writes the effect with its type.
func (e DeleteMemory) MarshalJSON() ([]byte, error) {
	type plain DeleteMemory
	return marshalTagged(string(e.Kind()), plain(e))
}

// MarshalJSON writes the effect with its type.
func (e LinkMemory) MarshalJSON() ([]byte, error) {
	type plain LinkMemory
	return marshalTagged(string(e.Kind()), plain(e))
}

// MarshalJSON writes the effect with its type.
func (e UnlinkMemory) MarshalJSON() ([]byte, error) {
	type plain UnlinkMemory
	return marshalTagged(string(e.Kind()), plain(e))
}

// MarshalJSON writes the effect with its type.
func (e Signal) MarshalJSON() ([]byte, error) {
	type plain Signal
	return marshalTagged(string(e.Kind()), plain(e))
}

// MarshalJSON writes the effect with its type.
func (e Delegate) MarshalJSON() ([]byte, error) {
	type plain Delegate
	return marshalTagged(string(e.Kind()), plain(e))
}

// MarshalJSON writes the effect with its type.
func (e Handoff) MarshalJSON() ([]byte, error) {
	type plain Handoff
	return marshalTagged(string(e.Kind()), plain(e))
}

// MarshalJSON writes the effect with its type.
func (e Log) MarshalJSON() ([]byte, error) {
	type plain Log
	return marshalTagged(string(e.Kind()), plain(e))
}

// MarshalJSON writes the effect with its type.
func (e ToolApprovalRequired) MarshalJSON() ([]byte, error) {
	type plain ToolApprovalRequired
	return marshalTagged(string(e.Kind()), plain(e))
}

// MarshalJSON writes the effect with its type.
func (e CustomEffect) MarshalJSON() ([]byte, error) {
	type plain CustomEffect
	return marshalTagged(string(e.Kind()), plain(e))
}
