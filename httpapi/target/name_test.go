package target

import (
	"encoding/json"
	"testing"

	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/domaincheck"
	"github.com/diagkit/diagkit/mailauth/nameuse"
	"github.com/diagkit/diagkit/webcheck/headers"
	"github.com/stretchr/testify/require"
)

// A whole states the use of the name, and whether it has a website only if that was checked.
func TestNameOfWhole(t *testing.T) {
	mail := Part{Check: Check{Group: Mail, Name: "mail"}, View: &view.View{}, Report: &domaincheck.Report{
		Name: nameuse.Of(nameuse.Evidence{Name: "www.example.com", Organization: "example.com", DMARC: nameuse.PolicyReject,
			DMARCFrom: "example.com", SPF: "nobody", SPFRecord: nameuse.No})}}
	web := func(status int) Part {
		return Part{Check: Check{Group: Web, Name: "headers"}, View: &view.View{},
			Report: &headers.Report{StatusCode: status}}
	}
	for _, tt := range []struct {
		name  string
		parts []Part
		want  nameuse.Answer
	}{
		{"mail alone", []Part{mail}, nameuse.Unknown},
		{"a site", []Part{mail, web(200)}, nameuse.Yes},
		{"silence", []Part{mail, web(0)}, nameuse.Unknown},
		{"no address", []Part{mail, {Check: Check{Group: Web, Name: siteless}, View: &view.View{}}}, nameuse.No},
	} {
		w := &Whole{Target: Target{Kind: Domain, Text: "www.example.com"}, Parts: tt.parts}
		text, err := w.JSON()
		require.NoError(t, err, tt.name)
		var whole struct {
			Name nameuse.Name `json:"name"`
		}
		require.NoError(t, json.Unmarshal(text, &whole), tt.name)
		require.Equal(t, nameuse.Host, whole.Name.Kind, tt.name)
		require.Equal(t, tt.want, whole.Name.Web.Answer, tt.name)
		require.NotEmpty(t, whole.Name.Web.Because, tt.name)
		require.Equal(t, "Host of example.com, protected by the policy p=reject of example.com.", w.describe(w.name()), tt.name)
	}
	none := &Whole{Parts: []Part{web(200)}}
	require.Nil(t, none.name(), "mail was not examined")
}
