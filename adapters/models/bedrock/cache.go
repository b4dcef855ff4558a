package bedrock

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
)

// system is the agent's prompt, followed by the context that comes before the
// conversation; marked: with a cache point after both.
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

// rolling is the number of cache points in the conversation. The newest is written; the
// previous one was the newest of the last request, and is read. The provider searches its
// cache only a few blocks before a mark, and a round may have more blocks.
const rolling = 2

// messages are the messages of the request. Marks come after content that the next
// request repeats, so that content of this request alone is not written.
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
