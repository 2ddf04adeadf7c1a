package core

import (
	"context"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// Check says whether values could be reserved.
func (c *core) Check(ctx context.Context, req dibs.CheckRequest) ([]dibs.Availability, error) {
	question, invalid := c.rules().Check(req)
	if invalid != nil {
		return nil, invalid
	}
	answers, err := ask(ctx, c, question)
	if err != nil {
		return nil, err
	}
	return answers, c.suggestAnswers(ctx, req, answers)
}

// suggestAnswers adds free names to the answers that say no.
func (c *core) suggestAnswers(ctx context.Context, req dibs.CheckRequest, answers []dibs.Availability) error {
	if req.Suggest <= 0 {
		return nil
	}
	var (
		refused []int
		models  []string
	)
	for i, a := range answers {
		if !a.Available {
			refused, models = append(refused, i), append(models, rules.ModelOf(a.Canonical, a.Refusal))
		}
	}
	if len(refused) == 0 {
		return nil
	}
	names, err := ask(ctx, c, c.rules().Suggest(req.Namespace, models, req.Parts, req.Suggest, randomWords()))
	if err != nil {
		return err
	}
	for i, index := range refused {
		answers[index].Suggestions = names[i]
	}
	return nil
}
