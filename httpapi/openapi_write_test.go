package httpapi

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/metering"
)

// writtenDocument is the OpenAPI document of the table as it is now, with the examples that are kept.
var writtenDocument = sync.OnceValue(func() []byte { return openAPI(endpoints, keptExample) })

// replyPlaces counts the places of the replies in which a struct is used. A report is a place of its own, so that
// programs can name it.
var replyPlaces = sync.OnceValue(func() map[reflect.Type]int {
	s := newSchemas()
	for _, ep := range endpoints {
		if ep.Operation.report != nil {
			s.typeSchema(ep.Operation.report)
			s.uses[ep.Operation.report]++
		}
	}
	return s.uses
})

// openAPI describes a table. Its objects are sorted by name, so that a new row adds lines in its own
// place and changes no others.
func openAPI(table []Endpoint, exampleOf func(Endpoint) example) []byte {
	replies := newSchemas()
	replies.useCounts = replyPlaces()
	components, types := replies.components, replies.types
	requests := &schemas{components: components, types: types, request: true}
	problem := replies.typeSchema(reflect.TypeFor[Problem]())
	components["PublicAPIError"] = components["Problem"]
	delete(components, "Problem")
	problem["$ref"] = "#/components/schemas/PublicAPIError"

	paths := map[string]any{
		openapiPath: schema{"get": schema{
			"operationId": openapiID, "summary": "this document", "tags": []string{"meta"},
			"description": "The description of the API. It needs no key and costs nothing.",
			"security":    []any{}, "x-credits": 0,
			"responses": documentResponses(),
		}},
	}
	responses := problemResponses()
	for _, ep := range table {
		path := Prefix + ep.Path
		if paths[path] == nil {
			paths[path] = schema{}
		}
		ex := exampleOf(ep)
		op := describe(ep, requests, replies, ex.Request, responses)
		if ep.Operation.report != nil {
			if reply := shortened(ex.Reply, ep.Operation.report); reply != nil {
				op["responses"].(schema)["200"].(schema)["content"].(schema)[jsonMedia].(schema)["example"] = reply
			}
		}
		paths[path].(schema)[strings.ToLower(ep.Method)] = op
	}
	doc := schema{
		"openapi": "3.1.0",
		"info": schema{
			"title": "diagkit", "version": Version,
			"summary": "What is wrong with a domain's DNS, mail and web set-up, and how to fix it.",
			"description": "Each operation takes a JSON object and answers with a report: what was found, findings with a " +
				"severity and advice, and for most of them a verdict with a score. A fault of the domain is a finding in " +
				"a reply with status 200; an error is a fault of the request or of the server, and costs nothing. " +
				"Every reply has the headers " + strings.Join(replyHeaders, ", ") + ", and every success " +
				strings.Join(successHeaders, ", ") + ". A body has at most " + strconv.Itoa(defaultBody) + " bytes unless " +
				"stated otherwise. Examples of replies are shortened to lists of one entry or none, and the largest are " +
				"left out.",
			"contact": schema{"name": "diagkit", "url": "https://github.com/diagkit/diagkit"},
			"license": schema{"name": "MIT", "identifier": "MIT"},
		},
		"x-reply-headers":   headerRefs(replyHeaders),
		"x-success-headers": headerTexts(successHeaders),
		"servers":           []any{schema{"url": "/", "description": "This server."}},
		"tags":              tags(table),
		"paths":             paths,
		"security":          []any{schema{"apiKey": []string{}}},
		"components": schema{
			"securitySchemes": schema{"apiKey": schema{
				"type": "http", "scheme": "bearer", "bearerFormat": "svc_(live|test)_ and 36 characters",
				"description": "An API key. Its scopes decide what it may do.",
			}},
			"schemas":    components,
			"headers":    headerComponents(usesDeprecation(table)),
			"parameters": schema{"IdempotencyKey": idempotencyParameter()},
			"responses":  responses,
		},
	}
	return laidOut(doc, "")
}

func tags(table []Endpoint) []any {
	families := map[string]bool{}
	for _, ep := range table {
		families[ep.family()] = true
	}
	list := []any{schema{"name": "meta", "description": "About the API itself."}}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		list = append(list, schema{"name": name, "description": "Operations under /" + name + "."})
	}
	return list
}

func idempotencyParameter() schema {
	return schema{
		"name": "Idempotency-Key", "in": "header", "required": false,
		"description": "Identifies this request, bare or as a quoted string. Sent again within " +
			metering.ReplayWindow.String() + " with the same path, query and body, it is answered with the same " +
			"reply and costs nothing.",
		"schema":  schema{"type": "string", "minLength": 10, "maxLength": 257, "pattern": "^[!-~]+$"},
		"example": "6d0c1f62-2f0b-4f5e-9d4b-0c2b6f3a9f10",
	}
}
