package rule

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextChoice(t *testing.T) {
	missing, unknown := rule("t.missing", Critical, 0), rule("t.unknown", Error, 0)
	missing.StateIfFailed, unknown.StateIfFailed = Missing, Unknown
	rules := Rules[failing]{
		rule("t.info", Info, 60), rule("t.warning", Warning, 0), rule("t.error", Error, 0), rule("t.critical", Critical, 0),
		missing, unknown, rule("t.rest", Info, 40),
	}
	outcomes := []string{"valid", "warning", "invalid", "missing", "unknown", "excellent", "critical"}
	tests := []struct {
		name  string
		texts []string // keys that have a text, which is the key itself
		fails []Code
		want  string
	}{
		{"band of a valid state", outcomes, nil, "excellent"},
		{"valid without a text for the band", []string{"valid"}, nil, "valid"},
		{"a weak but valid one is not called a warning", outcomes, []Code{"t.info"}, "valid"},
		{"the rule before state and band", outcomes, []Code{"t.warning"}, "Fault of t.warning"},
		{"invalid", outcomes, []Code{"t.error"}, "Fault of t.error"},
		{"missing before invalid", outcomes, []Code{"t.error", "t.missing"}, "Fault of t.missing"},
		{"unknown before warning", outcomes, []Code{"t.warning", "t.unknown"}, "Fault of t.unknown"},
		{"without any text", nil, []Code{"t.critical"}, "Fault of t.critical"},
		{"code", append(outcomes, "t.error"), []Code{"t.error"}, "t.error"},
		{"gravest code", append(outcomes, "t.error", "t.critical"), []Code{"t.error", "t.critical"}, "t.critical"},
		{"gravest code without a text", append(outcomes, "t.error"), []Code{"t.error", "t.critical"}, "Fault of t.critical"},
		{"code of a milder state is silent", append(outcomes, "t.warning"), []Code{"t.warning", "t.error"}, "Fault of t.error"},
		{"code of information", append(outcomes, "t.rest"), []Code{"t.rest"}, "t.rest"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			texts := Texts{}
			for _, key := range tt.texts {
				texts[key] = Text{Headline: key, Sub: key + "."}
			}
			evidence := failing{}
			for _, c := range tt.fails {
				evidence[c] = true
			}
			v := rules.Judge(evidence, texts)
			require.Equal(t, tt.want, v.Headline)
			if code, fell := strings.CutPrefix(tt.want, "Fault of "); fell {
				require.Equal(t, code+" was seen", v.Sub, "there is no advice")
			} else {
				require.Equal(t, tt.want+".", v.Sub)
			}
		})
	}
	nothing := Rules[failing]{}.Judge(nil, Texts{"valid": {Headline: "valid"}, "unknown": {Headline: "unknown"}})
	require.Equal(t, "valid", nothing.Headline, "that nothing was scored does not make it unknown")
}

func TestTextsCheck(t *testing.T) {
	rules := Rules[failing]{rule("t.error", Error, 1)}.Describe()
	good := func() Texts {
		return Texts{
			"valid":     {"The record is valid", "Nothing needs to be done."},
			"invalid":   {"The record is broken", "Mend it."},
			"excellent": {strings.Repeat("ü", MaxHeadline), "Nothing needs to be done."},
			"t.error":   {"The record has an error", "Mend it."},
		}
	}
	require.NoError(t, good().Check(rules))
	tests := []struct {
		name string
		key  string
		text Text
		want string
	}{
		{"unknown key", "odd", Text{"A headline", "A sub."}, "odd is no rule, state or band"},
		{"no headline", "valid", Text{"", "A sub."}, "valid: the headline has 0 characters"},
		{"long headline", "valid", Text{strings.Repeat("ü", MaxHeadline+1), "A sub."}, "valid: the headline has 71"},
		{"headline with a full stop", "valid", Text{"A headline.", "A sub."}, "valid: the headline ends with"},
		{"sub without a full stop", "valid", Text{"A headline", "A sub"}, "valid: the sub ends without"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			texts := good()
			texts[tt.key] = tt.text
			require.ErrorContains(t, texts.Check(rules), tt.want)
		})
	}
	texts := good()
	delete(texts, "valid")
	require.ErrorContains(t, texts.Check(rules), "the state valid has no text")
}
