//go:build clients

package local

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	script "github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/tool"
)

// dot is a picture of one pixel.
const dot = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde" +
	"\x00\x00\x00\x0cIDATx\x9cc\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xc9\xfe\x92\xef\x00\x00\x00\x00IEND\xaeB`\x82"

// withPainter adds two agents to the parts of a deployment: painter, whose tool returns files and
// whose texts have citations, and ledger, whose model takes short requests only.
func withPainter(parts agent.Parts) agent.Parts {
	cited := "Là-bas il pleut. It never rains <b>here</b>."
	page := core.Annotation{Type: core.AnnotationURL, Start: 0, End: 17, URL: "https://weather.example/today?a=1&b=2", Title: "Weather <today>", Quote: "pluie"}
	again := page
	again.Start, again.End = 18, 32
	parts.Models["painter"] = agent.ModelBinding{Model: script.Turns(
		script.Turn{Input: "draw", Text: "I draw.", Calls: []core.ToolCall{script.Call("draw", nil)}},
		script.Turn{Reasoning: "Two sources.", Text: cited, Annotations: []core.Annotation{
			page, again,
			{Type: core.AnnotationURL, Start: 18, End: 45, URL: "javascript:document.title='taken'", Title: "A script"},
			{Type: core.AnnotationDocument, Title: "Almanac", Document: 1, Unit: core.UnitPage, From: 2, To: 4},
		}},
	)}
	parts.Models["ledger"] = agent.ModelBinding{Model: ledgerModel{}}
	parts.Tools = append(parts.Tools, tool.New(tool.Spec{Name: "draw", Description: "Draws."}, func(context.Context, tool.Call, struct{}) (tool.Result, error) {
		drawn := tool.NewResult("A dot.").WithFile("image/png", []byte(dot)).WithFile("application/pdf", []byte("%PDF-1.4")).WithFile("text/csv", []byte("x,y\n0,0\n"))
		drawn.Content[2].Filename = "dots/of today.csv"
		return drawn, nil
	}))
	parts.Specs = append(parts.Specs,
		agent.Spec{ID: "painter", Model: "painter", Description: "Draws, and names its sources.", AllowedTools: []string{"draw"}},
		agent.Spec{ID: "ledger", Model: "ledger", Description: "Reads little at once.", AllowedTools: []string{}},
	)
	return parts
}

// ledgerModel refuses requests of more than 16,000 bytes, and says that it takes 4,096 tokens.
type ledgerModel struct{}

func (ledgerModel) Stream(_ context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		size := 0
		for _, m := range request.Messages {
			size += len(m.Text())
		}
		if size > 16_000 {
			yield(model.Delta{}, &model.Error{Kind: model.KindOverflow, Message: "too long", Limit: 4_096})
			return
		}
		last := request.Messages[len(request.Messages)-1].Text()
		_ = yield(model.Delta{Type: model.DeltaText, Text: fmt.Sprintf("Noted: %s.", strings.TrimRight(last, " x"))}, nil) &&
			yield(model.Delta{Type: model.DeltaStop, Stop: core.StopEndTurn}, nil)
	}
}
