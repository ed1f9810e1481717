"""Starting a thread's client with the messages that wait as its prompt: `send --start`."""

from __future__ import annotations

from dataclasses import dataclass

from pannier import groups
from pannier.clients import Client
from pannier.engine.terminal import Ends
from pannier.errors import UsageError
from pannier.launch import Building, Tell
from pannier.starting import Start, Starter
from pannier.threads import inbox
from pannier.threads.queue import Waiting, open_queue, queue_file


@dataclass(frozen=True)
class Delivery:
    """Tells the client of one thread what waits for it."""

    starter: Starter

    def decide(self, *, anew: bool = False) -> Start | None:
        """How to start the client; None if it is at work already. Changes nothing.

        It goes on with the thread's latest session, where the client can and one is known; `anew`
        begins one instead. Raises UsageError for a client that pannier cannot start so.
        """
        home, folder = self.starter.home, self.starter.folder
        client = groups.client_of(groups.get(home, folder), None)
        if not client.headless("x"):
            raise UsageError(
                f"pannier knows no way to start {client.title} without a person",
                f"The message can wait for its next turn: pannier send {folder} …",
            )
        return self.starter.place(client, "" if anew else self.latest_session(client))

    def latest_session(self, client: Client) -> str:
        """The session of the client in which the thread last spoke; "" if none is known."""
        if client.resume is None:
            return ""
        mine = [one.session for one in self.starter.spoken() if one.client == client.name]
        return mine[-1] if mine else ""

    def run(self, how: Start, tell: Tell, building: Building) -> int | None:
        """Start the client with what waits, and again with what came meanwhile. Returns its own
        status; None if another process started it already: it receives the messages.

        With status 0 the messages were delivered; otherwise, also when this process was told to
        end meanwhile (128 + N after a signal N), they wait again. Where a hook was
        quicker, there is nothing to tell, and nothing is started.
        """
        starter = self.starter
        status: int | None = None
        next_: Start | None = how
        while next_ is not None:
            with open_queue(queue_file(starter.home, starter.environ)) as queue:
                group = starter.home.group(starter.folder)
                taken = inbox.take_out(queue, group, starter.thread)
            if taken is None:
                return status
            if not taken:
                return status or 0
            status = self._tell(next_, taken, tell, building)
            if status != 0:
                return status
            next_ = self.decide()
        return status

    def _tell(self, how: Start, taken: list[Waiting], tell: Tell, building: Building) -> int:
        starter = self.starter
        signals: list[int] = []
        ends = Ends(tty=False, stdin=False, heard=signals.append)
        status = None
        try:
            command = command_for(how, inbox.prompt_of(taken))
            status = starter.run(how, command, tell, building, ends)
            # Gemini CLI ends with 0 also when it was told to end in the middle of its turn.
            status = status or (128 + signals[0] if signals else 0)
            return status
        finally:
            with open_queue(queue_file(starter.home, starter.environ)) as queue:
                if status == 0:
                    queue.delivered(starter.folder, [row.message.id for row in taken])
                else:
                    inbox.put_back(queue, starter.home.group(starter.folder), taken)


def command_for(how: Start, prompt: str) -> tuple[str, ...]:
    """The client's words for a prompt without a person, in the session that goes on."""
    if how.session and how.client.resume is not None:
        return how.client.resume(prompt, how.session)
    return how.client.headless(prompt)
