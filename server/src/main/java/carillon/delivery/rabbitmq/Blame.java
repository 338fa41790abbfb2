package carillon.delivery.rabbitmq;

import carillon.model.task.DeliveryResult;
import carillon.model.task.FailureKind;
import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Method;
import com.rabbitmq.client.ShutdownSignalException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Why a channel was closed, and which messages caused it; mostly none, because the connection was
 * lost.
 *
 * @param code the broker's reply code; 0 if it gave none
 */
record Blame(int code, String text) {

  private static final Pattern TOO_LARGE = Pattern.compile("message size ([0-9]{1,18}) is larger");

  static Blame of(ShutdownSignalException cause) {
    Method reason = cause.getReason();
    if (cause.isInitiatedByApplication()) {
      return new Blame(0, "closed by Carillon");
    }
    if (reason instanceof AMQP.Channel.Close close) {
      return new Blame(close.getReplyCode(), close.getReplyText());
    }
    if (reason instanceof AMQP.Connection.Close close) {
      return new Blame(0, close.getReplyText());
    }
    String why = cause.getCause() == null ? null : cause.getCause().getMessage();
    return new Blame(0, why == null ? "connection lost" : why);
  }

  boolean isMissing() {
    return code == AMQP.NOT_FOUND;
  }

  boolean isRefusal() {
    return code == AMQP.ACCESS_REFUSED;
  }

  /** Whether this message caused the close. */
  boolean isOn(Publication sent) {
    if (isMissing() || isRefusal()) {
      String exchange = sent.target.exchange().isEmpty() ? "amq.default" : sent.target.exchange();
      return text.contains(" exchange '" + exchange + "' in vhost ");
    }
    Matcher size = TOO_LARGE.matcher(text);
    return code == AMQP.PRECONDITION_FAILED
        && size.find()
        && Long.parseLong(size.group(1)) == sent.length();
  }

  /**
   * The result of a message on the channel. The broker's own text may contain names that tenants
   * must not see; it goes to the log only.
   *
   * @param isCauseKnown whether some message is known to have caused the close. If not, every sent
   *     message fails: otherwise the unknown one would close one channel after the other, forever.
   */
  DeliveryResult resultOf(Publication sent, boolean isCauseKnown) {
    if (!isOn(sent)) {
      return code == 0 || isCauseKnown || !sent.isSent()
          ? Publication.unreached("the broker was lost")
          : Publication.failed(FailureKind.BROKER_REFUSED, "the broker rejected the message");
    }
    if (isMissing()) {
      return Exchanges.NOT_FOUND;
    }
    return isRefusal()
        ? Exchanges.NOT_ALLOWED
        : Publication.refused("the message is too large for the broker");
  }
}
