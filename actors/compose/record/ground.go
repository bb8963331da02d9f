package record

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FinalAnswerGrounded is true if the final answer has something that a tool returned and that nobody had said before. That is
// one of
//
//   - a word of at least three letters, or with a digit and at least two characters, as a whole and whatever its case;
//   - of scripts that do not part words, a text of at least two characters that is a value of a JSON result, or a whole result.
//
// What is in the task or in the input of a call does not count, since the answer may have it from there; nor do the keys of
// JSON, failures, and the commonest English words. It does not say that all of the answer is true: it finds answers that
// are made up although a tool was asked.
func FinalAnswerGrounded() Assertion {
	return Assertion{NameFinalAnswerGrounded, func(r *Run) error {
		answer := strings.ToLower(r.Answer())
		words := wordsOf(answer)
		known := knownBefore(r)
		knownWords := wordsOf(known)
		found := false
		for _, x := range r.Results() {
			if x.IsError || !x.Made() {
				continue
			}
			found = true
			for _, value := range valuesOf(x.Output) {
				value = strings.ToLower(strings.TrimSpace(value))
				if unparted(value) && strings.Contains(answer, value) && !strings.Contains(known, value) {
					return nil
				}
				for w := range wordsOf(value) {
					if words[w] && !knownWords[w] && tells(w) {
						return nil
					}
				}
			}
		}
		if !found {
			return errors.New("no tool returned anything that the answer could be from")
		}
		return errors.New("the answer has nothing that a tool returned")
	}}
}

// knownBefore is what was said before any tool returned anything, or to the tools.
func knownBefore(r *Run) string {
	var b strings.Builder
	add := func(text string) {
		b.WriteString(strings.ToLower(text))
		b.WriteByte('\n')
	}
	text, _ := r.Task.Message.AsText()
	add(text)
	for _, m := range r.Task.Context {
		add(m.Text())
	}
	for _, t := range r.Turns {
		for _, c := range t.Invocations {
			for _, v := range valuesOf(string(c.Input)) {
				add(v)
			}
		}
	}
	return b.String()
}

// valuesOf are the texts and numbers of a JSON value, or a text that is none.
func valuesOf(text string) (all []string) {
	v, ok := valueOf(json.RawMessage(text))
	if !ok || strings.TrimSpace(text) == "" || !json.Valid([]byte(text)) {
		return []string{text}
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			all = append(all, v)
		case json.Number:
			all = append(all, v.String())
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(v)
	return all
}

// wordsOf cuts a text into words. Between two digits . , : and - are part of one.
func wordsOf(text string) map[string]bool {
	words := map[string]bool{}
	runes := []rune(text)
	start := -1
	for i := 0; i <= len(runes); i++ {
		inside := i < len(runes) && (unicode.IsLetter(runes[i]) || unicode.IsDigit(runes[i]) || joins(runes, i))
		switch {
		case inside && start < 0:
			start = i
		case !inside && start >= 0:
			words[string(runes[start:i])] = true
			start = -1
		}
	}
	return words
}

func joins(runes []rune, i int) bool {
	between := i > 0 && i+1 < len(runes) && unicode.IsDigit(runes[i-1]) && unicode.IsDigit(runes[i+1])
	return between && strings.ContainsRune(".,:-", runes[i])
}

// unparted reports whether a value is of a script that does not part words, and long enough.
func unparted(value string) bool {
	return utf8.RuneCountInString(value) >= 2 && strings.ContainsFunc(value, func(r rune) bool {
		return unicode.In(r,
			unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
	})
}

// tells reports whether a word says something.
func tells(word string) bool {
	letters := utf8.RuneCountInString(word)
	if strings.ContainsFunc(word, unicode.IsDigit) {
		return letters >= 2
	}
	return letters >= 3 && !common[word]
}

// common are words that any answer has.
var common = func() map[string]bool {
	all := map[string]bool{}
	for w := range strings.FieldsSeq("the and are was were for not but you your with this that these those from have has had will would " +
		"can could may might its his her our their they them she who what when where which why how all any some one two out off " +
		"into over than then there here also very more most only just been being did does done yes true false null none ok okay " +
		"result results value values error data text name title answer found today now") {
		all[w] = true
	}
	return all
}()
