//go:build !race || nightly

package httpapi

import (
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mayBeNil are the members that a program has to compare with nil before it looks into them, and why.
var mayBeNil = map[string]string{
	"deliverability.Component.Result": "the whole report of a part, for which a request has to ask",
	"netmask.Report.Broadcast":        "null in JSON: a /31 has none",
}

// mayBeNilAlone are those that functions never return as nil, but that are nil in a report decoded from less.
var mayBeNilAlone = map[string]string{
	"spf.LookupReport.Tree":         alwaysThere,
	"dmarc.GenerateReport.Analysis": alwaysThere,
	"dmarcbis.MigrateReport.Before": alwaysThere,
	"dmarcbis.MigrateReport.After":  alwaysThere,

	"deliverability.Components.SPF": alwaysThere, "deliverability.Components.DKIM": alwaysThere,
	"deliverability.Components.DMARC": alwaysThere, "deliverability.Components.BIMI": alwaysThere,
	"deliverability.Components.Reputation": alwaysThere, "deliverability.Components.TLSRPT": alwaysThere,

	"domaincheck.Sending.SPF": alwaysThere, "domaincheck.Sending.DMARC": alwaysThere,
	"domaincheck.Sending.BIMI": alwaysThere, "domaincheck.Receiving.MX": alwaysThere,
	"domaincheck.Receiving.MTASTS": alwaysThere, "domaincheck.Receiving.DANE": alwaysThere,
	"domaincheck.Receiving.TLSRPT": alwaysThere, "domaincheck.Integrity.DNSSEC": alwaysThere,
}

const alwaysThere = "a member of every reply, which the schema lets be null"

// A Go program reads a report without nil checks, whatever the state of the domain: what can be absent is a value,
// and its zero value says so.
func TestNoReportPanics(t *testing.T) {
	for _, ep := range endpoints {
		if ep.Operation.report == nil {
			continue
		}
		t.Run(ep.Name(), func(t *testing.T) {
			empty, err := ep.Decode([]byte("{}"))
			require.NoError(t, err)
			assert.NotPanics(t, func() { View(empty) })
			for _, at := range nils(reflect.ValueOf(empty).Elem(), 3) {
				assert.NotEmpty(t, mayBeNil[at]+mayBeNilAlone[at], "%s is nil in an empty report", at)
			}
			synctest.Test(t, func(t *testing.T) { // silence costs no time
				world, answered := troubledWorld(t), 0
				for _, host := range hosts {
					request := strings.ReplaceAll(string(exampleRequest(t, ep)), "example.com", host)
					result, err := runExample(t, world, ep, []byte(request))
					if err != nil {
						continue // TestRepliesMatchDocument knows which
					}
					answered++
					for _, at := range nils(reflect.ValueOf(result.Report).Elem(), 3) {
						assert.NotEmpty(t, mayBeNil[at], "%s is nil for %s", at, host)
					}
					again, err := ep.Decode(result.Body)
					require.NoError(t, err)
					body, err := encode(again)
					require.NoError(t, err)
					assert.Equal(t, string(result.Body), string(body), "what is absent stays absent, and what is zero stays")
				}
				assert.NotZero(t, answered)
			})
		})
	}
}

// nils lists the pointers to structs that are nil among the exported fields of a struct, and of its members so many
// levels deep. Embedded structs do not count as a level.
func nils(v reflect.Value, levels int) (list []string) {
	for _, sf := range reflect.VisibleFields(v.Type()) {
		f, err := v.FieldByIndexErr(sf.Index)
		if err != nil || !sf.IsExported() { // in an embedded pointer that is nil, which is listed itself
			continue
		}
		if f.Kind() == reflect.Pointer && f.Type().Elem().Kind() == reflect.Struct {
			if f.IsNil() {
				name, _, _ := strings.Cut(v.Type().String(), "[") // of a generic type
				list = append(list, name+"."+sf.Name)
			}
			f = f.Elem()
		}
		if f.Kind() == reflect.Struct && !sf.Anonymous && levels > 1 {
			list = append(list, nils(f, levels-1)...)
		}
	}
	return list
}
