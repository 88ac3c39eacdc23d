from django.apps import AppConfig


class WorkerConfig(AppConfig):
    name = "worker"

    def ready(self) -> None:
        from audit.models import AuditEvent
        from base.nonces import UsedNonce
        from mail.links import EmailedLink
        from mail.models import MailBudget, OutgoingMail
        from throttling.models import Lockout
        from worker import jobs

        jobs.register("prune", lambda: sum(jobs.prune_all().values()), every=jobs.HOURLY)
        jobs.register_pruning(AuditEvent, Lockout, MailBudget, OutgoingMail, UsedNonce)
        jobs.register_pruning(*EmailedLink.models_by_label().values())
