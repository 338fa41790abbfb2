package carillon.delivery.rabbitmq;

import carillon.model.task.DeliveryResult;
import carillon.model.task.FailureKind;
import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Method;
import com.rabbitmq.client.ShutdownSignalException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Which messages made the broker close a channel, by what it said; mostly none, because the network
 * was lost.
 *
 * @param code the broker's reply code; 0 if it said nothing
 */
record Blame(int code, String text) {

  private static final Pattern TOO_LARGE = Pattern.compile("message size ([0-9]{1,18}) is larger");

  static Blame of(ShutdownSignalException cause) {
    Method reason = cause.getReason();
    if (cause.isInitiatedByApplication()) {
      return new Blame(0, "we gave it up");
    }
    if (reason instanceof AMQP.Channel.Close close) {
      return new Blame(close.getReplyCode(), close.getReplyText());
    }
    if (reason instanceof AMQP.Connection.Close close) {
      return new Blame(0, close.getReplyText());
    }
    String why = cause.getCause() == null ? null : cause.getCause().getMessage();
    return new Blame(0, why == null ? "the connection broke" : why);
  }

  boolean isMissing() {
    return code == AMQP.NOT_FOUND;
  }

  boolean isRefusal() {
    return code == AMQP.ACCESS_REFUSED;
  }

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
   * What becomes of a message on the channel. The broker's own words may name what is no business
   * of a tenant; they are for the log.
   *
   * @param clear whether any message is known to be to blame. If not, all that were sent are taken
   *     for it: they would else close one channel after the other without end.
   */
  DeliveryResult verdict(Publication sent, boolean clear) {
    if (!isOn(sent)) {
      return code == 0 || clear || !sent.isSent()
          ? Publication.unreached("the broker was lost")
          : Publication.failed(FailureKind.BROKER_REFUSED, "the broker does not take the message");
    }
    if (isMissing()) {
      return Exchanges.NO_SUCH;
    }
    return isRefusal()
        ? Exchanges.NOT_LET
        : Publication.refused("the message is too large for the broker");
  }
}
