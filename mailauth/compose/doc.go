// Package compose joins several diagnostics of one domain into one: call [Start], then [Ask] for each part, then
// [Run.Wait], and [Composite.Verdict] for the verdict of all together.
//
//	run := compose.Start(ctx, env)
//	spfPart := compose.Ask(run, compose.SPF, spf.Lookup, spf.LookupRequest{Domain: domain})
//	run.Wait()
//	composite := compose.Composite{Parts: []compose.WeightedPart{{Summary: &spfPart.Summary, Weight: 25}}, …}
//	verdict := composite.Verdict()
//
// # Parts
//
// Parts run concurrently and share a cache, so a question that several ask is sent once. A part that fails, panics
// or times out gets the state unknown; the others are unaffected.
//
// # The composite
//
// A reader of several reports wants to know what to do first. Findings therefore become one list without duplicates:
// a fault that several parts report is listed by the part whose record causes it, and failed lookups of several
// parts become one finding. Each finding keeps its severity; the gravest comes first, in the headline and in the
// advice, and the effect on mail breaks ties. A suggested value is passed on only if it belongs to the part that
// suggests it, no other was suggested for the same record, and nothing broken elsewhere would make it harmful.
//
// The score is the weighted mean of the parts that have one, under the caps of [diag.Severity.Cap]. If it is unknown
// whether something works on which mail depends, the state is unknown; what was not examined is not praised, see
// [Composite.Ready].
package compose
