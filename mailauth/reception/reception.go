// Package reception tells whether a domain receives mail, and where its mail goes (RFC 5321 section 5.1): call
// [Lookup] with a domain, or [LookupHosts] for its mail servers with their addresses.
//
// Mail goes to the MX hosts or, without MX records, to the domain's own address, its implicit MX. A domain that
// receives none publishes a null MX, "MX 0 ." (RFC 7505). What a missing mail authentication record means depends on
// this, and so does whether a report can be delivered.
package reception

import (
	"context"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// A Reception is what the DNS says about where mail for a domain goes.
type Reception struct {
	MX        diag.Answer[*dns.MX]
	Addresses diag.Addresses // of the domain itself
}

// Lookup asks for all of it at once. The failures of the DNS are in the result.
func Lookup(ctx context.Context, env *diag.Env, name diag.Name) Reception {
	var r Reception
	var g diag.Group
	g.Go(func() { r.MX = diag.Lookup[*dns.MX](ctx, env, name.FQDN()) })
	g.Go(func() { r.Addresses = diag.LookupAddresses(ctx, env, name.FQDN()) })
	g.Wait()
	return r
}

// NullMX reports whether the domain says that it receives no mail (RFC 7505 section 3).
func (r *Reception) NullMX() bool {
	for _, mx := range r.MX.Records {
		if mx.Mx != "." {
			return false
		}
	}
	return r.MX.Exists()
}

// Receives reports whether mail for the domain may go somewhere, and whether that is known.
func (r *Reception) Receives() (yes, known bool) {
	switch {
	case r.denied():
		return false, true
	case r.MX.Err() != nil:
		return false, false
	case r.MX.Exists():
		return !r.NullMX(), true
	case r.Addresses.V4.Exists() || r.Addresses.V6.Exists():
		return true, true
	default:
		return false, r.Addresses.Err() == nil
	}
}

// Exists reports whether the domain exists, and whether that is known. NXDOMAIN for one type holds for all (RFC 8020
// section 2); at the end of an alias it speaks of the target.
func (r *Reception) Exists() (yes, known bool) {
	v4, v6 := &r.Addresses.V4, &r.Addresses.V6
	if len(r.MX.Aliases)+len(v4.Aliases)+len(v6.Aliases) > 0 {
		return true, true
	}
	answered := r.MX.Err() == nil || v4.Name != "" && v4.Err() == nil || v6.Name != "" && v6.Err() == nil
	return answered && !r.denied(), answered
}

// denied reports whether the DNS says that there is no such name.
func (r *Reception) denied() bool {
	return r.MX.NXDomain() || r.MX.Err() != nil && (r.Addresses.V4.NXDomain() || r.Addresses.V6.NXDomain())
}

// Refusal says why the domain receives no mail, as a clause about it; empty if it receives some, or if that is not
// known.
func (r *Reception) Refusal() string {
	switch yes, known := r.Receives(); {
	case yes || !known:
		return ""
	case r.NullMX():
		return "has a null MX"
	case r.denied():
		return "does not exist"
	default:
		return "has neither an MX record nor an address"
	}
}

// Unknown says why it is not known whether the domain receives mail, for a sentence; empty if it is.
func (r *Reception) Unknown() string {
	if _, known := r.Receives(); known {
		return ""
	}
	kind, err := "MX", r.MX.Err()
	if err == nil {
		kind, err = "address", r.Addresses.Err()
	}
	return fmt.Sprintf("the %s lookup of %s failed: %s", kind, strings.TrimSuffix(r.MX.Name, "."), diag.Reason(err))
}
