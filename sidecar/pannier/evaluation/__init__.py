"""How well a model learns: conversations in which it is known what there is to be learned."""
