package carillon.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a bean method that handles tasks of one type.
 *
 * <pre>{@code
 * @CarillonTask("invoice.send")
 * void send(Invoice invoice, TaskContext context) { ... }
 * }</pre>
 *
 * <p>Its parameters, all optional and in any order, are the payload, read as the type of the
 * parameter, and a {@link carillon.client.TaskContext}. Its return value is the output of the task.
 * Throwing fails the attempt; see also {@link carillon.client.RetryLater} and {@link
 * carillon.client.DeadTask}.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface CarillonTask {

  /** The task type. */
  String value();
}
