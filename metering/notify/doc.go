// Package notify notifies accounts of events about their keys, credits, invoices and hosted SPF profiles by signed
// webhooks (Standard Webhooks), Slack, Microsoft Teams, Telegram and mail. Call [Channels.Create] to register a
// target, and run a [Deriver] and a [Worker]:
//
//	worker := &notify.Worker{Store: store, Client: client}
//	deriver := &notify.Deriver{Store: store, Wake: worker.Wake}
//	go deriver.Run(ctx)
//	go worker.Run(ctx)
//
// Receivers of webhooks in Go call [Verify].
//
// # Delivery
//
// An event is written under an ID derived from its subject: by a [Deriver], which finds it in keys and balances at
// each check, or in one transaction with its subject, such as an invoice. The event is due. A [Worker] clears its Due
// and writes a delivery for each subscribed channel, in one transaction. A delivery is due, too: a worker claims it by
// moving its Due to the end of a lease, tries it, and records the outcome. Any number of nodes do this at once: the
// first to change a record has it, and what a dead node had claimed is due again at the end of its lease. Each
// delivery is thus made at least once, and twice only if a node died before it could record it. All attempts carry the
// same event ID, by which receivers detect repeats.
//
// A delivery is tried six times over some seven hours, after waits of 10 seconds, a minute, ten minutes, an hour and
// six hours, or longer if the receiver asks for it with Retry-After. [Channels.Replay] sends it again within 30 days.
//
// # Events
//
// A rotation is one event, without another for the creation of the new key. Expiry is announced 7 days and 1 day
// ahead. Usage thresholds are 50, 80, 90 and 100 percent of the allowance, and 80 percent of the overage budget; if
// several are passed at once, the highest is reported. A refusal for lack of credits is reported once per account and
// month, one by a rate limit once per key and hour. Nothing that happened before a channel was created, or more than a
// week ago, is reported.
package notify
