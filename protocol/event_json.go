package protocol

import "time"

// MarshalJSON writes what the tags say.
func (e Event) MarshalJSON() ([]byte, error) { return e.appendJSON(nil) }

func (e Event) appendJSON(dst []byte) ([]byte, error) {
	dst = appendString(append(dst, `{"id":`...), e.ID)
	dst = appendString(append(dst, `,"kind":`...), string(e.Kind))
	dst = appendString(append(dst, `,"operator":`...), string(e.Operator))
	dst = appendString(append(dst, `,"instance":`...), e.Instance)
	dst = appendString(append(dst, `,"run":`...), string(e.Run))
	if e.Parent != "" {
		dst = appendString(append(dst, `,"parent":`...), string(e.Parent))
	}
	if e.Seq != 0 {
		dst = appendUint(append(dst, `,"seq":`...), e.Seq)
	}
	dst = e.Time.AppendFormat(append(dst, `,"time":"`...), time.RFC3339Nano)
	dst = append(dst, '"')
	if e.Trace != "" {
		dst = appendString(append(dst, `,"trace":`...), e.Trace)
	}
	dst, err := appendRaw(append(dst, `,"data":`...), e.Data)
	if err != nil || len(e.Also) == 0 {
		return append(dst, '}'), err
	}
	dst = append(dst, `,"also":[`...)
	for i, part := range e.Also {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(append(dst, `{"kind":`...), string(part.Kind))
		if dst, err = appendRaw(append(dst, `,"data":`...), part.Data); err != nil {
			return dst, err
		}
		dst = append(dst, '}')
	}
	return append(dst, "]}"...), nil
}
