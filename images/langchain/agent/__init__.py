"""A small complete agent in Python, built on LangChain's `create_agent` and `pannier_agents`."""
