// Package compose joins several diagnostics of one domain into one: call [Start], then [Ask] for each part, then
// [Run.Wait], and [Whole.Sum] for the verdict of the whole.
//
//	run := compose.Start(ctx, env)
//	spfPart := compose.Ask(run, compose.SPF, spf.Lookup, spf.LookupRequest{Domain: name})
//	run.Wait()
//	whole := compose.Whole{Parts: []compose.Share{{Summary: &spfPart.Summary, Weight: 25}}, …}
//	verdict := whole.Sum()
//
// # Parts
//
// Parts run at once and share one cache, so that a question that several of them ask is asked once. A part that ends
// in an error, in a panic or with its time becomes a part of state unknown; the others are not touched.
//
// # The whole
//
// A reader of several reports wants to know what to do first. So their findings become one list in which nothing
// stands twice: a fault that several parts tell is told by the part whose record causes it ([roots]), and failed
// lookups of several parts become one finding. Each finding is as grave as in its part, and the gravest comes first, in
// the headline and in what to do; what a fault does to mail, see effect, decides between equals. A value to publish is
// only passed on if it belongs to the part that suggests it, if no other was suggested for the same record, and if
// nothing that is broken elsewhere would make it do harm.
//
// The score is the weighted mean of those parts that have one, under the caps of [diag.Severity.Cap]: what is not
// known leaves the denominator, and an average does not hide a fault. Where it is not known whether something works on
// which mail depends, the state is unknown; what nobody examined is not praised, see [Whole.Ready].
package compose
