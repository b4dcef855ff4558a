package bedrock

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
)

// system is the agent's prompt, and behind it the context that comes before the
// conversation; marked: with a cache point behind both.
func (c *conversation) system(prompt string, marked bool) []types.SystemContentBlock {
	var blocks []types.SystemContentBlock
	for _, said := range append([]string{prompt}, c.context...) {
		if strings.TrimSpace(said) != "" {
			blocks = append(blocks, &types.SystemContentBlockMemberText{Value: said})
		}
	}
	if marked && len(blocks) > 0 {
		blocks = append(blocks, &types.SystemContentBlockMemberCachePoint{Value: cachePoint()})
	}
	return blocks
}

// rolling is how many cache points go with the conversation: the newest is written, the
// one before it was the newest of the last request, and is read. The provider looks for
// what it has only a few blocks back of a mark, and a round may have more of them.
const rolling = 2

// messages are the messages on the wire. A mark stands behind what the next request
// begins with, too, so that what holds for this one alone is not written.
func (c *conversation) messages(marked bool) []types.Message {
	marks := 0
	if marked {
		marks = rolling
	}
	out := make([]types.Message, len(c.turns))
	for i := len(c.turns) - 1; i >= 0; i-- {
		said := c.turns[i]
		out[i] = types.Message{Role: said.role, Content: said.blocks}
		if said.role != types.ConversationRoleUser || said.stable == 0 || marks == 0 {
			continue
		}
		marks--
		blocks := append([]types.ContentBlock{}, said.blocks[:said.stable]...)
		blocks = append(blocks, &types.ContentBlockMemberCachePoint{Value: cachePoint()})
		out[i].Content = append(blocks, said.blocks[said.stable:]...)
	}
	return out
}
