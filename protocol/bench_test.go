package protocol_test

import (
	"testing"

	"github.com/skelegent/skelegent-go/protocol"
)

const (
	benchInput  = `{"message":"What time is it in Oslo, and is the shop open?","trigger":"user","session":null,"config":null,"metadata":null}`
	benchOutput = `{"message":"It is ten past nine and the shop is open.","exit_reason":"complete","metadata":{"tokens_in":512,"tokens_out":37,"cost":"0.000127","turns_used":2,"sub_dispatches":[],"duration":1840},"effects":[]}`
)

func benchMarshal[T any](b *testing.B, text string) {
	var v T
	if err := protocol.Unmarshal([]byte(text), &v); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := protocol.Marshal(v); err != nil {
			b.Fatal(err)
		}
	}
}

func benchUnmarshal[T any](b *testing.B, text string) {
	data := []byte(text)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var v T
		if err := protocol.Unmarshal(data, &v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMarshalInput(b *testing.B)   { benchMarshal[protocol.OperatorInput](b, benchInput) }
func BenchmarkUnmarshalInput(b *testing.B) { benchUnmarshal[protocol.OperatorInput](b, benchInput) }

func BenchmarkMarshalOutput(b *testing.B) { benchMarshal[protocol.OperatorOutput](b, benchOutput) }

func BenchmarkUnmarshalOutput(b *testing.B) { benchUnmarshal[protocol.OperatorOutput](b, benchOutput) }
