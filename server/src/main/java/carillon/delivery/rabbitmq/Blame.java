package carillon.delivery.rabbitmq;

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
    if (reason instanceof AMQP.Channel.Close close) {
      return new Blame(close.getReplyCode(), close.getReplyText());
    }
    if (reason instanceof AMQP.Connection.Close close) {
      return new Blame(0, close.getReplyText());
    }
    Throwable why = cause.getCause();
    return new Blame(0, why == null ? "the connection broke" : String.valueOf(why.getMessage()));
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
        && Long.parseLong(size.group(1)) == sent.body.length;
  }
}
