package probe

import (
	"context"
	"errors"
	"slices"
)

// groups finds all groups that a version has with suites that need one.
func (s *scanner) groups(ctx context.Context, v Version, suites []uint16) (found []GroupResult) {
	if len(suites) == 0 {
		return nil
	}
	h := s.hello(v, suites)
	for len(h.Groups) > 0 {
		reply, err := s.ask(ctx, h)
		if err != nil {
			return found
		}
		i := slices.Index(h.Groups, reply.Group)
		if reply.Version != v || i < 0 {
			return found
		}
		found = append(found, GroupResult{reply.Group, v})
		h.Groups = slices.Delete(h.Groups, i, i+1)
	}
	return found
}

// protocols finds all application protocols of those that were offered.
func (s *scanner) protocols(ctx context.Context, v Version, suites []uint16) (found []string) {
	h := s.hello(v, suites)
	h.ALPN = slices.Clone(h.ALPN)
	for len(h.ALPN) > 0 {
		reply, err := s.ask(ctx, h)
		if err != nil || !slices.Contains(h.ALPN, reply.ALPN) {
			return found
		}
		found = append(found, reply.ALPN)
		h.ALPN = slices.DeleteFunc(h.ALPN, func(p string) bool { return p == reply.ALPN })
	}
	return found
}

// order learns whose preference counts: the suites are offered in one order and in its reverse. ChaCha20 is left out,
// which some servers prefer only if the client does.
func (s *scanner) order(ctx context.Context, v Version, suites []uint16) Answer {
	suites = slices.DeleteFunc(slices.Clone(suites), func(id uint16) bool { return SuiteOf(id).chaCha() })
	if len(suites) < 2 {
		return Unknown
	}
	one, err := s.ask(ctx, s.hello(v, suites))
	if err != nil {
		return Unknown
	}
	slices.Reverse(suites)
	other, err := s.ask(ctx, s.hello(v, suites))
	if err != nil {
		return Unknown
	}
	return answer(one.Suite == other.Suite)
}

// compression learns whether the server takes an offer to compress.
func (s *scanner) compression(ctx context.Context, v Version, suites []uint16) Answer {
	h := s.hello(v, suites)
	h.Compression = true
	reply, err := s.ask(ctx, h)
	if err != nil {
		return Unknown
	}
	return answer(reply.Compression)
}

// fallback learns whether the server recognises a client that was made to use an older version than both know.
func (s *scanner) fallback(ctx context.Context, r *Report) Answer {
	var supported []Version
	for _, v := range r.Versions {
		if v.Supported == Yes && v.Version != SSL2 {
			supported = append(supported, v.Version)
		}
	}
	if len(supported) < 2 {
		return Unknown // there is nothing to fall back to
	}
	older := supported[len(supported)-2]
	h := s.hello(older, r.suites(older, anySuite))
	h.Fallback = true
	_, err := s.ask(ctx, h)
	if refusal, ok := errors.AsType[*refusal](err); ok && refusal.Alert == InappropriateFallback {
		return Yes
	} else if err != nil {
		return Unknown
	}
	return No
}

// confirm repeats what was answered at first. If the server refuses it now, it has stopped to speak with us, and what
// it refused in the meantime is not known.
func (s *scanner) confirm(ctx context.Context, r *Report) {
	first := cmpReply(r.New, r.Old)
	if first == nil {
		return
	}
	reply, err := s.ask(ctx, s.hello(first.Version, []uint16{first.Suite}))
	if err == nil && reply.Version == first.Version {
		return
	}
	s.mu.Lock()
	s.lost = true
	s.mu.Unlock()
	for i := range r.Versions {
		if r.Versions[i].Supported == No {
			r.Versions[i].Supported = Unknown
		}
	}
}
