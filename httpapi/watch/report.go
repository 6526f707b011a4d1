package watch

import (
	"context"
	"errors"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/metering"
)

// reportKind is that of the records with the digest of the last regular run of a watch.
const reportKind = "watch_report"

// Report returns what the last regular run has found, with advice. It is [metering.ErrNotFound] before the first run,
// and after one of a version that did not keep it. Faults that later runs have not confirmed are not in it.
func (w *Watches) Report(ctx context.Context, account metering.AccountID, id string) (*target.Digest, error) {
	r, err := w.Store.Record(ctx, account, reportKind, id)
	if err != nil {
		return nil, err
	}
	return read[target.Digest](r)
}

// report returns the record of the digest as the run leaves it: its own if it is regular, else the one before without
// the faults that it has not confirmed. There is none if that does not change.
func (s *session) report(ctx context.Context, c *comparison) ([]metering.Record, error) {
	old, err := s.Store.Record(ctx, s.record.Account, reportKind, s.record.ID)
	known := err == nil
	if errors.Is(err, metering.ErrNotFound) {
		old, err = metering.Record{Account: s.record.Account, Kind: reportKind, ID: s.record.ID, At: s.at}, nil
	}
	if err != nil {
		return nil, err
	}
	digest := c.digest
	if digest == nil {
		dismissed := c.dismissed(s.suspected)
		if !known || len(dismissed) == 0 {
			return nil, nil
		}
		before, err := read[target.Digest](old)
		if err != nil {
			return nil, nil // the next regular run replaces it
		}
		digest = before.Without(dismissed)
	}
	r, err := write(old, digest)
	return []metering.Record{r}, err
}

// suspectedFaults returns the codes of findings whose appearance is not confirmed.
func (s *state) suspectedFaults() (codes []diag.Code) {
	for key, p := range s.Suspicions {
		if p.Value == present && p.Record == nil {
			codes = append(codes, diag.Code(key))
		}
	}
	return codes
}

// dismissed returns those of some codes that are neither suspected any more nor known.
func (s *state) dismissed(codes []diag.Code) []diag.Code {
	now := s.suspectedFaults()
	return slices.DeleteFunc(slices.Clone(codes), func(code diag.Code) bool {
		return slices.Contains(now, code) || find(s.Findings, string(code)) != nil
	})
}
