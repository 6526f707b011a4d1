package httpapi

import (
	"context"
	"errors"
	"reflect"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
)

// errHosted is the error of [Endpoint.Run] for an operation on hosted SPF profiles: it needs the store
// in which they are. [Endpoint.RunHosted] takes one.
var errHosted = errors.New("the operation works on profiles that a server keeps")

// hosted adapts an operation on the hosted SPF profiles of the caller.
func hosted[Req, Rep any](f func(context.Context, *diag.Env, hostedspf.Access, Req) (*Rep, error)) operation {
	return operation{
		request: reflect.TypeFor[Req](), report: reflect.TypeFor[Rep](),
		media: []string{jsonMedia}, body: defaultBody, time: defaultTime, weight: callWeight, owned: true, function: f,
		run: func(ctx context.Context, env *diag.Env, req any) (any, error) {
			o, ok := req.(*ownedRequest)
			if !ok {
				return nil, errHosted
			}
			report, err := f(ctx, env, o.access, *o.request.(*Req))
			if err != nil {
				return nil, err
			}
			return report, nil
		},
	}
}

// Hosted reports whether the operation works on hosted SPF profiles: it then runs at a server or by
// [Endpoint.RunHosted], and not by [Endpoint.Run].
func (ep Endpoint) Hosted() bool { return ep.op.owned }

// An ownedRequest is a request with whose profiles it is about.
type ownedRequest struct {
	access  hostedspf.Access
	request any // pointer to the request of the operation
}

// own adds to a request whose profiles it is about: those of the caller's key and of all keys that it was rotated from.
func (x *exchange) own(req any) (any, error) {
	first, err := x.Gate.Origin(x.r.Context(), *x.caller.Key)
	if err != nil {
		return nil, err
	}
	access := hostedspf.Access{Store: x.HostedSPF, Owner: hostedspf.Owner(first), Notify: x.NotifySPF, Zone: x.SPFZone}
	return &ownedRequest{access, req}, nil
}

// RunHosted is [Endpoint.Run] with access to hosted SPF profiles. Other operations make no use of it.
func (ep Endpoint) RunHosted(ctx context.Context, env *diag.Env, access hostedspf.Access, body []byte) (
	*Result, error) {
	req, err := ep.op.decode(body)
	if err != nil {
		return nil, err
	}
	if ep.op.owned {
		req = &ownedRequest{access, req}
	}
	return ep.op.execute(ctx, env, req)
}
